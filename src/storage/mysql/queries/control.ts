import { statusCodes } from '../../sql/status-codes.js';
import { hexId, int, join, type Sql, sql } from '../sql.js';
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

/** Index: primary. */
export function setPausedStatement(t: Tables, queueId: number, paused: boolean): Sql {
  return sql`update ${t.queues} set paused = ${int(paused)} where id = ${queueId}`;
}

/** The whole table: one short row per queue. */
export function readPaused(t: Tables): Sql {
  return sql`select id from ${t.queues} where paused = 1`;
}
