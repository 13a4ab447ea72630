import { statusCodes } from '../../sql/status-codes.js';
import type { Lane } from '../lanes.js';
import { hexId, hexText, int, join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Index: by_queue of finals, one bounded range per queue. */
export function buriedAfter(
  t: Tables,
  queueIds: readonly number[],
  after: string | null,
  count: number,
): Sql {
  const bound = after === null ? sql`` : sql`and id > ${hexId(after)}`;
  const each = queueIds.map(
    (queueId) => sql`(select id from ${t.finals} force index (by_queue) where queue_id = ${queueId}
      and status = ${statusCodes.buried} ${bound} order by id limit ${count})`,
  );
  return sql`select id from (${join(each, ' union all ')}) buried order by id limit ${count}`;
}

/** Index: by_id. */
export function requestStop(t: Tables, id: string, stop: number): Sql {
  return sql`update ${t.leases} set stop = ${stop} where id = ${hexId(id)}`;
}

/** Index: by_id. */
export function requestStops(t: Tables, ids: readonly Sql[], stop: number): Sql {
  return sql`update ${t.leases} set stop = ${stop} where id in ${list(ids)}`;
}

export interface BodyEdit {
  readonly payload?: string;
  readonly version?: number;
  /** Null: as it is. */
  readonly queueId: number | null;
  readonly rnk: number | null;
}

/** Index: primary. */
export function editBodies(t: Tables, ids: readonly Sql[], edit: BodyEdit): Sql {
  const { payload, version, queueId, rnk } = edit;
  const text = payload === undefined ? sql`` : sql`, payload = ${hexText(payload)}`;
  const shape = payload === undefined || version === undefined ? sql`` : sql`, version = ${version}`;
  return sql`update ${t.jobs} set queue_id = coalesce(${queueId}, queue_id), rnk = coalesce(${rnk}, rnk) ${text} ${shape}
    where id in ${list(ids)}`;
}

/** Index: primary. */
export function moveWaiting(
  t: Tables,
  ids: readonly Sql[],
  { queueId, rnk }: Pick<BodyEdit, 'queueId' | 'rnk'>,
): Sql {
  return sql`update ${t.waiting} set queue_id = coalesce(${queueId}, queue_id), rnk = coalesce(${rnk}, rnk)
    where id in ${list(ids)}`;
}

/** Lanes that jobs move to, committed with the move: a claim that doesn't know them yet learns of them by the version. */
export function addLanes(t: Tables, lanes: readonly Lane[]): Sql[] {
  const fresh = new Map(
    lanes.map((lane) => [`${lane.queueId}.${lane.line}.${lane.rnk}.${lane.nameId}`, lane]),
  );
  const rows = [...fresh.values()].map(
    ({ queueId, line, rnk, nameId }) => sql`(${queueId}, ${line}, ${rnk}, ${nameId})`,
  );
  const queueIds = [...new Set(lanes.map(({ queueId }) => queueId))].sort((a, b) => a - b);
  return [
    sql`insert ignore into ${t.lanes} (queue_id, line, rnk, name_id) values ${rows}`,
    sql`update ${t.queues} set lanes = lanes + 1 where id in ${list(queueIds)}`,
  ];
}

/** Index: primary. */
export function setPausedStatement(t: Tables, queueId: number, paused: boolean): Sql {
  return sql`update ${t.queues} set paused = ${int(paused)} where id = ${queueId}`;
}

/** The whole table: one short row per queue. */
export function readPaused(t: Tables): Sql {
  return sql`select id from ${t.queues} where paused = 1`;
}
