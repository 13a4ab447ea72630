import { hexId, int, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

const dayMs = 86_400_000;

/**
 * Index: by_purge of finals; primary of edges (prefix) and finals for what must stay. Scalar subqueries with a limit are
 * asked row by row; an `exists` MariaDB would answer by walking over all edges and all finals.
 */
export function purgeableStatement(
  t: Tables,
  batch: {
    readonly status: number;
    readonly isRetained: boolean;
    readonly olderThanMs: number;
    readonly count: number;
  },
  now: Sql,
): Sql {
  const isFinal = sql`(select 1 from ${t.finals} c where c.id = e.child limit 1)`;
  const isNeeded = sql`(select 1 from ${t.edges} e where e.parent = f.id and ${isFinal} is null limit 1)`;
  return sql`select f.id from ${t.finals} f force index (by_purge) where f.status = ${batch.status}
    and f.retained = ${int(batch.isRetained)} and f.purge_at <= ${now} - ${batch.olderThanMs} and ${isNeeded} is null
    order by f.purge_at, f.id limit ${batch.count}`;
}

/** Index: primary. */
export function lockPurgeable(t: Tables, ids: readonly string[], status: number): Sql {
  return sql`select id from ${t.finals} force index (primary) where id in ${list(ids.map(hexId))}
    and status = ${status} order by id for update`;
}

/** Index: primary. */
export function removeFinals(t: Tables, ids: readonly Sql[]): Sql {
  return sql`delete from ${t.finals} where id in ${list(ids)}`;
}

/** Index: by_time of log, by_until of keys; workers are few. */
export function traceStatements(
  t: Tables,
  request: { readonly olderThanMs: number; readonly limit: number },
  now: Sql,
): Sql[] {
  return [
    sql`delete from ${t.log} where at_ms <= ${now} - ${request.olderThanMs} order by at_ms limit ${request.limit}`,
    sql`delete from ${t.keys} where until_ms <= ${now} order by until_ms limit ${request.limit}`,
    sql`delete from ${t.workers} where heartbeat_at <= ${now} - ${dayMs} order by id limit ${request.limit}`,
  ];
}
