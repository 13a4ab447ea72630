import { auditKeptMs } from '../../audit.js';
import { hexText, int, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';
import { deleteProfiles } from './limits.js';

const dayMs = 86_400_000;

export interface PurgeBatch {
  readonly status: number;
  readonly isRetained: boolean;
  readonly olderThanMs: number;
  readonly count: number;
}

function isOldEnough(batch: PurgeBatch, now: Sql): Sql {
  return sql`f.status = ${batch.status} and f.retained = ${int(batch.isRetained)}
    and f.purge_at <= ${now} - ${batch.olderThanMs}`;
}

/**
 * Index: by_purge of finals; primary of edges (prefix) and finals for what must stay. Scalar subqueries with a limit are
 * asked row by row; an `exists` MariaDB would answer by walking over all edges and all finals.
 */
export function purgeableStatement(t: Tables, batch: PurgeBatch, now: Sql): Sql {
  const isNeeded = sql`(select 1 from ${t.edges} e where e.parent = f.id and ${childIsFinal(t)} is null limit 1)`;
  return sql`select f.id from ${t.finals} f force index (by_purge) where ${isOldEnough(batch, now)} and ${isNeeded} is null
    order by f.purge_at, f.id limit ${batch.count}`;
}

const childIsFinal = (t: Tables): Sql => sql`(select 1 from ${t.finals} c where c.id = e.child limit 1)`;

/** Those of them that may still go. Index: primary. */
export function lockPurgeable(t: Tables, ids: readonly Sql[], batch: PurgeBatch, now: Sql): Sql {
  return sql`select f.id from ${t.finals} f force index (primary) where f.id in ${list(ids)} and ${isOldEnough(batch, now)}
    order by f.id for update`;
}

/** Those of them that a job which is not final waits or waited for. Index: primary of edges (prefix) and finals. */
export function neededParents(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select distinct e.parent from ${t.edges} e where e.parent in ${list(ids)} and ${childIsFinal(t)} is null`;
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
    sql`delete from ${t.workers} where heartbeat_at <= ${now} - ${dayMs} and admin_state = ${hexText('active')}
      order by id limit ${request.limit}`,
    sql`update ${t.workers} set forgotten = 1 where heartbeat_at <= ${now} - ${dayMs} and forgotten = 0
      order by id limit ${request.limit}`,
    sql`delete from ${t.audit} where at_ms <= ${now} - ${auditKeptMs} order by at_ms limit ${request.limit}`,
    deleteProfiles(t, request.limit, now),
  ];
}
