import { boundLimit } from '../bound-limit.js';

/** By primary key. */
export const beat = `
  insert into hubs (id, started_at, heartbeat_at, report) values (?, ?, ?, ?)
  on conflict (id) do update set heartbeat_at = excluded.heartbeat_at, report = excluded.report`;

/** The whole table: few rows. */
export const list = `
  select report, started_at as startedAtMs, heartbeat_at as heartbeatAtMs from hubs where heartbeat_at > ? order by id`;

/** By primary key. */
export const remove = 'delete from hubs where id = ?';

/** The whole table: few rows. */
export const purge = `
  delete from hubs where id in (select id from hubs where heartbeat_at <= ? order by id ${boundLimit})`;
