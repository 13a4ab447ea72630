export interface WorkerRow {
  readonly id: string;
  readonly incarnation: string;
  readonly adminState: 'active' | 'drain' | 'standby';
  readonly startedAt: number;
  readonly heartbeatAt: number;
  readonly gone: number;
  readonly report: string;
}

const columns = `id, incarnation, admin_state as adminState, started_at as startedAt, heartbeat_at as heartbeatAt, gone, report`;

/** By primary key. */
export const workerById = `select ${columns} from workers where id = ?`;

export const allWorkers = `select ${columns} from workers order by id`;

/** By primary key; the admin state stays. */
export const register = `
  insert into workers (id, incarnation, started_at, heartbeat_at, gone, report) values (?, ?, ?, ?, 0, ?)
  on conflict (id) do update set incarnation = excluded.incarnation, started_at = excluded.started_at,
    heartbeat_at = excluded.heartbeat_at, gone = 0, report = excluded.report`;

/** By primary key. */
export const heartbeat =
  'update workers set heartbeat_at = ?, report = ? where id = ? and incarnation = ? and gone = 0';

/** By primary key. */
export const unregister = 'update workers set heartbeat_at = ?, gone = 1 where id = ? and incarnation = ?';

/** By primary key: taken when it is free, ours, or past its end. */
export const takeDuty = `
  insert into duties (name, holder, until) values (?, ?, ?)
  on conflict (name) do update set holder = excluded.holder, until = excluded.until
    where duties.holder = excluded.holder or duties.until <= ?`;

/** By primary key. */
export const releaseDuty = 'delete from duties where name = ? and holder = ?';
