import type { Lease } from '../../claimed-job.js';
import { aloneLine, ordinaryLine } from '../codes.js';
import { marksColumns } from '../marks.js';
import { hexDigits, hexId, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/**
 * Passes over what another transaction has locked: it is just being settled, or a user's transaction has its hands on it,
 * for which the other leases of the process must not wait. Index: primary; the incarnation is the first half of the token.
 */
export function lockHeld(t: Tables, incarnation: string): Sql {
  return sql`select id from ${t.leases} where ${heldBy(incarnation)} for update skip locked`;
}

/** Of leases that this transaction has locked; the index is forced, so that no other row is touched. Index: by_id. */
export function renewStatement(t: Tables, ids: readonly Sql[], leaseUntil: Sql): Sql {
  return sql`update ${t.leases} force index (by_id) set lease_until = ${leaseUntil} where id in ${list(ids)}`;
}

/** Index: primary. */
export function heldStatement(t: Tables, incarnation: string): Sql {
  return sql`select id, token, stop from ${t.leases} where ${heldBy(incarnation)}`;
}

function heldBy(incarnation: string): Sql {
  const first = hexDigits(`${incarnation}0000000000000000`, 16);
  return sql`token between ${first} and ${hexDigits(`${incarnation}ffffffffffffffff`, 16)}`;
}

/** Index: primary, one dive per pair. */
export function markStartedStatement(t: Tables, leases: readonly Lease[]): Sql {
  const pairs = leases.map(({ id, token }) => sql`(${hexDigits(token, 16)}, ${hexId(id)})`);
  return sql`update ${t.leases} set started = 1 where (token, id) in ${list(pairs)}`;
}

/** Index: by_id. */
export function tokensOf(t: Tables, leases: readonly Lease[]): Sql {
  return sql`select id, token from ${t.leases} force index (by_id) where id in ${list(leases.map(({ id }) => hexId(id)))}`;
}

/** Index: by_name of ready, one dive per lane. */
export function peekStatement(
  t: Tables,
  queueIds: readonly number[],
  nameIds: readonly number[],
  now: Sql,
): Sql {
  const first = sql`(select r.due from ${t.ready} r force index (by_name) where r.queue_id = l.queue_id
    and r.line = l.line and r.name_id = l.name_id and r.rnk = l.rnk order by r.due limit 1)`;
  return sql`select min(if(l.line = ${ordinaryLine}, ${first}, null)), min(if(l.line = ${aloneLine}, ${first}, null)), ${now}
    from ${t.lanes} l straight_join ${t.queues} q on q.id = l.queue_id and q.paused = 0
    where l.queue_id in ${list(queueIds)} and l.name_id in ${list(nameIds)}`;
}

/** The whole table: as many rows as jobs run. */
export function expiredStatement(
  t: Tables,
  request: {
    readonly expiredForMs: number;
    readonly limit: number;
    readonly after?: { leaseUntilMs: number; id: string };
  },
  now: Sql,
): Sql {
  const { after } = request;
  const beyond =
    after === undefined
      ? sql``
      : sql`and (l.lease_until > ${after.leaseUntilMs} or (l.lease_until = ${after.leaseUntilMs} and l.id > ${hexId(after.id)}))`;
  return sql`select ${marksColumns}, l.id, l.token, l.queue_id, l.name_id, l.worker_id, l.started, l.line, l.stop,
    l.lease_until, j.max_attempts, ${now} from ${t.leases} l straight_join ${t.jobs} j on j.id = l.id
    left join ${t.marks} m on m.id = l.id
    where l.lease_until <= ${now} - ${request.expiredForMs} ${beyond} order by l.lease_until, l.id limit ${request.limit}`;
}

/** Lanes of jobs by id: what has to exist before one of them changes its line. Index: primary. */
export function lanesOfJobs(t: Tables, ids: readonly string[]): Sql {
  return sql`select queue_id, rnk, name_id from ${t.jobs} where id in ${list(ids.map(hexId))}`;
}

/** The id with which a page of the sweep over blocked jobs ends; none when the rest is shorter. Index: primary. */
export function sweepBound(t: Tables, after: string | null, pageRows: number): Sql {
  return sql`select id from ${t.waiting} force index (primary) ${after === null ? sql`` : sql`where id > ${hexId(after)}`}
    order by id limit ${pageRows - 1}, 1`;
}

/**
 * Blocked jobs of a page that wait for nothing which can still end. Index: primary of waiting, by_child of edges, primary
 * of the rest, asked row by row.
 */
export function strandedStatement(t: Tables, after: string | null, until: string | null, limit: number): Sql {
  const isKnown = sql`(select 1 from ${t.jobs} p where p.id = e.parent limit 1)`;
  const isFinal = sql`(select 1 from ${t.finals} f where f.id = e.parent limit 1)`;
  const waits = sql`(select 1 from ${t.edges} e force index (by_child) where e.child = w.id and e.met = 0
    and ${isKnown} = 1 and ${isFinal} is null limit 1)`;
  return sql`select w.id from ${t.waiting} w force index (primary) where ${waits} is null
    ${after === null ? sql`` : sql`and w.id > ${hexId(after)}`} ${until === null ? sql`` : sql`and w.id <= ${hexId(until)}`}
    order by w.id limit ${limit}`;
}

/** What these jobs wait for on paper, and how it ended (null: gone): child, parent, policy, status. Index: by_child. */
export function openEdgesWithEnds(t: Tables, ids: readonly string[]): Sql {
  return sql`select e.child, e.parent, e.policy, f.status from ${t.edges} e force index (by_child)
    left join ${t.finals} f on f.id = e.parent where e.child in ${list(ids.map(hexId))} and e.met = 0`;
}
