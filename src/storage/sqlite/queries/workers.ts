export interface WorkerRow {
  readonly id: string;
  readonly incarnation: string;
  readonly adminState: 'active' | 'drain' | 'standby';
  readonly startedAt: number;
  readonly heartbeatAt: number;
  readonly gone: number;
  readonly recycleAsked: number;
  readonly forgotten: number;
  readonly connectionEpoch: number;
  readonly disconnectedAt: number | null;
  readonly report: string;
}

const columns = `id, incarnation, admin_state as adminState, started_at as startedAt, heartbeat_at as heartbeatAt, gone,
  recycle_asked as recycleAsked, forgotten, connection_epoch as connectionEpoch, disconnected_at as disconnectedAt, report`;

/** By primary key. */
export const workerById = `select ${columns} from workers where id = ?`;

export const allWorkers = `select ${columns} from workers where forgotten = 0 order by id`;

/** By primary key; the admin state stays, the epoch counts up. */
export const register = `
  insert into workers (id, incarnation, started_at, heartbeat_at, recycle_asked, report, connection_epoch)
  values (?, ?, ?, ?, ?, ?, ?)
  on conflict (id) do update set incarnation = excluded.incarnation, started_at = excluded.started_at,
    heartbeat_at = excluded.heartbeat_at, gone = 0, forgotten = 0, recycle_asked = excluded.recycle_asked, report = excluded.report,
    connection_epoch = workers.connection_epoch + 1, disconnected_at = null
  returning connection_epoch`;

/** By primary key. */
export const heartbeat =
  'update workers set heartbeat_at = ?, report = ?, disconnected_at = null where id = ? and incarnation = ? and gone = 0 and forgotten = 0';

/** By primary key; the first time counts. */
export const noteDisconnected = `
  update workers set disconnected_at = coalesce(disconnected_at, ?)
   where id = ? and incarnation = ? and connection_epoch = ? and gone = 0 and forgotten = 0`;

/** The whole table: few rows. */
export const fleetOrders = `
  select id, admin_state as adminState, recycle_asked and not forgotten as recycleAsked from workers
   where admin_state <> 'active' or (recycle_asked = 1 and forgotten = 0) order by id`;

/** By primary key. */
export const unregister = 'update workers set heartbeat_at = ?, gone = 1 where id = ? and incarnation = ?';

/** By primary key. */
export const setAdminState = 'update workers set admin_state = ? where id = ?';

/** By primary key. */
export const askRecycle = 'update workers set recycle_asked = 1 where id = ? and forgotten = 0';

/** By primary key. */
export const forget = 'delete from workers where id = ? and (gone = 1 or forgotten = 1 or heartbeat_at <= ?)';

/** By primary key. */
export const forgetSilent =
  "delete from workers where id = ? and heartbeat_at = ? and admin_state = 'active' and forgotten = 0";

/** By primary key. */
export const hideSilent =
  'update workers set forgotten = 1 where id = ? and heartbeat_at = ? and forgotten = 0';

/** By the unique id. */
export const writeAudit = `
  insert into audit (at, id, actor, action, target, source, result) values (?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`;

/** By primary key, from its end. */
export const auditPage = `
  select id, actor, action, target, source, at as atMs, result from audit
   where (at, id) < (?, ?) order by at desc, id desc limit ?`;

/** By primary key: taken when it is free, ours, or past its end. */
export const takeDuty = `
  insert into duties (name, holder, until) values (?, ?, ?)
  on conflict (name) do update set holder = excluded.holder, until = excluded.until
    where duties.holder = excluded.holder or duties.until <= ?`;

/** By primary key. */
export const releaseDuty = 'delete from duties where name = ? and holder = ?';
