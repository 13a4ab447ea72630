import { hexId, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/**
 * Where jobs stand, without a lock: id, leased, waiting, ended, and the place in the line of one that is pending.
 * Index: primary of all but leases: by_id.
 */
export function readPlaces(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select j.id, l.id is not null as leased, w.id is not null as waits, f.id is not null as ended,
      r.queue_id, r.line, r.rnk, r.due
    from ${t.jobs} j left join ${t.marks} m on m.id = j.id left join ${t.leases} l on l.id = j.id
    left join ${t.waiting} w on w.id = j.id left join ${t.finals} f on f.id = j.id
    left join ${t.ready} r on r.queue_id = j.queue_id and r.line = coalesce(m.line, j.line, 0) and r.rnk = j.rnk
      and r.due = coalesce(m.due, j.due) and r.id = j.id
    where j.id in ${list(ids)}`;
}

export interface ReadyPlace {
  readonly id: string;
  readonly queueId: number;
  readonly line: number;
  readonly rnk: number;
  readonly due: number;
}

/** One row by its whole key, so that nothing but the row is locked. Index: primary. */
export function lockReadyAt(t: Tables, { id, queueId, line, rnk, due }: ReadyPlace): Sql {
  return sql`select id, queue_id, name_id, line, rnk, due, flags from ${t.ready} force index (primary)
    where queue_id = ${queueId} and line = ${line} and rnk = ${rnk} and due = ${due} and id = ${hexId(id)} for update`;
}
