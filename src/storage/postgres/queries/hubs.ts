import { nowMs, type Schema, type Statement } from '../statement.js';

export const hubQueries = (s: Schema) =>
  ({
    /** $1 id, $2 report, $3 offset */
    beat: {
      name: 'millrace_hub_beat',
      text: `insert into ${s}.hubs (id, started_at, heartbeat_at, report)
      select $1, t.now, t.now, $2 from (select ${nowMs('$3')} as now offset 0) t
      on conflict (id) do update set heartbeat_at = excluded.heartbeat_at, report = excluded.report`,
    },
    /** $1 offset, $2 silent for ms */
    list: {
      name: 'millrace_hubs',
      text: `select h.report, h.started_at, h.heartbeat_at, t.now - h.heartbeat_at
      from ${s}.hubs h, (select ${nowMs('$1')} as now offset 0) t where t.now - h.heartbeat_at < $2::bigint order by h.id`,
    },
    /** $1 id */
    remove: { name: 'millrace_remove_hub', text: `delete from ${s}.hubs where id = $1` },
    /** $1 offset, $2 limit, $3 silent for ms */
    purge: {
      name: 'millrace_purge_hubs',
      text: `with d as (delete from ${s}.hubs where id in (select id from ${s}.hubs where heartbeat_at <= ${nowMs('$1')} - $3::bigint limit $2::int)
        and heartbeat_at <= ${nowMs('$1')} - $3::bigint returning 1) select count(*) from d`,
    },
  }) satisfies Record<string, Statement>;
