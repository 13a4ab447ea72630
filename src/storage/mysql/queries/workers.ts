import type { AuditPageRequest, NewAuditEntry } from '../../audit.js';
import { epochUnitMs } from '../../worker-record.js';
import { hexDigits, hexId, hexText, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

const columns = sql`id, incarnation, report, admin_state, started_at, heartbeat_at, gone, recycle_asked, forgotten`;

/** A clock, and whether workers have epochs; in a schema without, which this code still runs on, all are at epoch 0. */
export interface At {
  readonly now: Sql;
  readonly hasEpochs: boolean;
}

const epochColumns = (hasEpochs: boolean): Sql =>
  hasEpochs ? sql`connection_epoch, disconnected_at` : sql`0, null`;

/** Index: primary. */
export function lockWorker(t: Tables, id: string, { now, hasEpochs }: At): Sql {
  return sql`select ${columns}, ${epochColumns(hasEpochs)}, ${now} from ${t.workers} where id = ${hexText(id)} for update`;
}

/** The whole table: few rows. */
export function readWorkers(t: Tables, { now, hasEpochs }: At): Sql {
  return sql`select ${columns}, ${epochColumns(hasEpochs)}, ${now} from ${t.workers} where forgotten = 0 order by id`;
}

export interface WorkerRow {
  readonly id: string;
  readonly incarnation: string;
  readonly report: string;
}

/** The first registration of an id; fails where another one was quicker. */
export function insertWorker(t: Tables, worker: WorkerRow, { now, hasEpochs }: At): Sql {
  const epoch = hasEpochs ? sql`, ${now} div ${epochUnitMs} + 1` : sql``;
  return sql`insert into ${t.workers} (${columns}${hasEpochs ? sql`, connection_epoch` : sql``}) values (${hexText(worker.id)}, ${hexDigits(worker.incarnation, 8)},
    ${hexText(worker.report)}, ${hexText('active')}, ${now}, ${now}, 0, 0, 0${epoch})`;
}

/** Replaces a registration whose row is locked, by the same incarnation or another; `admin_state` stays. Index: primary. */
export function replaceWorker(
  t: Tables,
  worker: WorkerRow,
  { isSame, now, hasEpochs }: At & { readonly isSame: boolean },
): Sql {
  const counted = hasEpochs ? sql`, connection_epoch = connection_epoch + 1, disconnected_at = null` : sql``;
  const fresh = isSame ? sql`` : sql`, started_at = ${now}, recycle_asked = 0`;
  return sql`update ${t.workers} set incarnation = ${hexDigits(worker.incarnation, 8)}, report = ${hexText(worker.report)},
    heartbeat_at = ${now}, gone = 0, forgotten = 0${counted}${fresh} where id = ${hexText(worker.id)}`;
}

/** Refreshes this incarnation, unless it said goodbye or has a newer connection. Index: primary. */
export function refreshWorker(
  t: Tables,
  worker: WorkerRow,
  { epoch, now, hasEpochs }: At & { readonly epoch: number | undefined },
): Sql {
  const standing = hasEpochs ? sql`connection_epoch` : sql`0`;
  const isNewest = epoch === undefined ? sql`` : sql`and ${standing} = ${epoch}`;
  const connected = hasEpochs ? sql`, disconnected_at = null` : sql``;
  return sql`update ${t.workers} set report = ${hexText(worker.report)}, heartbeat_at = ${now}${connected}
    where id = ${hexText(worker.id)} and incarnation = ${hexDigits(worker.incarnation, 8)} and gone = 0 and forgotten = 0 ${isNewest}`;
}

/** The first time counts. Index: primary. */
export function markDisconnected(
  t: Tables,
  { id, incarnation, epoch }: { readonly id: string; readonly incarnation: string; readonly epoch: number },
  now: Sql,
): Sql {
  return sql`update ${t.workers} set disconnected_at = coalesce(disconnected_at, ${now}) where id = ${hexText(id)}
    and incarnation = ${hexDigits(incarnation, 8)} and connection_epoch = ${epoch} and gone = 0 and forgotten = 0`;
}

/** Index: primary. */
export function readAdminState(t: Tables, id: string): Sql {
  return sql`select admin_state, recycle_asked from ${t.workers} where id = ${hexText(id)}`;
}

/** What is known of an id, its epoch, and whether that is this incarnation. Index: primary. */
export function readKnown(
  t: Tables,
  { id, incarnation }: Pick<WorkerRow, 'id' | 'incarnation'>,
  hasEpochs: boolean,
): Sql {
  return sql`select admin_state, ${hasEpochs ? sql`connection_epoch` : sql`0`}, incarnation = ${hexDigits(incarnation, 8)} and gone = 0 and forgotten = 0
    from ${t.workers} where id = ${hexText(id)}`;
}

/** Workers of which operators want something; the whole table: few rows. */
export function readFleetOrders(t: Tables): Sql {
  return sql`select id, admin_state, recycle_asked = 1 and forgotten = 0 from ${t.workers}
    where admin_state <> ${hexText('active')} or (recycle_asked = 1 and forgotten = 0) order by id`;
}

/** Index: primary. */
export function markGone(t: Tables, id: string, incarnation: string, now: Sql): Sql {
  return sql`update ${t.workers} set gone = 1, heartbeat_at = ${now}
    where id = ${hexText(id)} and incarnation = ${hexDigits(incarnation, 8)}`;
}

/** Index: primary. */
export function writeAdminState(t: Tables, id: string, adminState: string): Sql {
  return sql`update ${t.workers} set admin_state = ${hexText(adminState)} where id = ${hexText(id)}`;
}

/** Index: primary. */
export function askRecycle(t: Tables, id: string): Sql {
  return sql`update ${t.workers} set recycle_asked = 1 where id = ${hexText(id)}`;
}

/** A row that is locked. Index: primary. */
export function deleteWorker(t: Tables, id: string): Sql {
  return sql`delete from ${t.workers} where id = ${hexText(id)}`;
}

/** Index: primary. */
export function deleteSilent(t: Tables, id: string, heartbeatAtMs: number): Sql {
  return sql`delete from ${t.workers} where id = ${hexText(id)} and heartbeat_at = ${heartbeatAtMs}
    and admin_state = ${hexText('active')} and forgotten = 0`;
}

/** Index: primary. */
export function hideSilent(t: Tables, id: string, heartbeatAtMs: number): Sql {
  return sql`update ${t.workers} set forgotten = 1 where id = ${hexText(id)} and heartbeat_at = ${heartbeatAtMs} and forgotten = 0`;
}

/** Index: by_id. */
export function writeAudit(t: Tables, entry: NewAuditEntry & { readonly result: string }, now: Sql): Sql {
  const { id, actor, action, target, source, result } = entry;
  return sql`insert into ${t.audit} (at_ms, id, actor, action, target, source, result) values (${now}, ${hexId(id)},
    ${hexText(actor)}, ${hexText(action)}, ${hexText(target)}, ${hexText(source)}, ${hexText(result)})
    on duplicate key update at_ms = at_ms`;
}

/** Index: primary, from its end. */
export function auditPage(t: Tables, { limit, after }: AuditPageRequest): Sql {
  const below =
    after === undefined
      ? sql``
      : sql`where at_ms <= ${after.atMs} and (at_ms < ${after.atMs} or id < ${hexId(after.id)})`;
  return sql`select id, actor, action, target, source, at_ms, result from ${t.audit} ${below}
    order by at_ms desc, id desc limit ${limit}`;
}

/** Taken when it is free, over or ours; the assignments are made in this order. Index: primary. */
export function takeDutyStatement(t: Tables, name: string, holder: string, ttlMs: number, now: Sql): Sql {
  return sql`insert into ${t.duties} (name, holder, until_ms) values (${hexText(name)}, ${hexText(holder)}, ${now} + ${ttlMs})
    on duplicate key update holder = if(until_ms <= ${now}, values(holder), holder),
    until_ms = if(holder = values(holder), values(until_ms), until_ms)`;
}

/** Index: primary. */
export function holdsDuty(t: Tables, name: string, holder: string): Sql {
  return sql`select 1 from ${t.duties} where name = ${hexText(name)} and holder = ${hexText(holder)}`;
}

/** Index: primary. */
export function releaseDutyStatement(t: Tables, name: string, holder: string): Sql {
  return sql`delete from ${t.duties} where name = ${hexText(name)} and holder = ${hexText(holder)}`;
}

/** A few counts of settles; those that are being written are left for the next time. Index: primary. */
export function lockDeltas(t: Tables, limit: number): Sql {
  return sql`select id, queue_id, status, n from ${t.deltas} order by id limit ${limit} for update skip locked`;
}

export function foldDeltas(
  t: Tables,
  sums: readonly { readonly queueId: number; readonly status: number; readonly n: number }[],
): Sql {
  const values = sums.map(({ queueId, status, n }) => sql`(${queueId}, ${status}, ${n})`);
  return sql`insert into ${t.counts} (queue_id, status, n) values ${values} on duplicate key update n = n + values(n)`;
}
