import type { Lease } from '../../claimed-job.js';
import { aloneLine, ordinaryLine } from '../codes.js';
import { marksColumns } from '../marks.js';
import { hexDigits, hexId, join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';
import { hasLines } from './claim.js';

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

/** Index: primary, one range per incarnation; some of these hold nothing. */
export function stopRequestsStatement(t: Tables, incarnations: readonly string[], limit: number): Sql {
  return sql`select id, token, stop from ${t.leases} force index (primary)
    where (${join(incarnations.map(heldBy), ' or ')}) and stop <> 0 limit ${limit}`;
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

/** What one take of a claim could get. */
export interface PeekedTake {
  readonly queueIds: readonly number[];
  readonly nameIds: readonly number[];
}

/**
 * Due of the first ordinary job, of the first that must run alone, now, and whether there are other lines. Of `kept` queues
 * only ordinary jobs count that are not due yet. Index: by_name of ready, one dive per lane.
 */
export function peekStatement(
  t: Tables,
  takes: readonly PeekedTake[],
  { now, kept }: { readonly now: Sql; readonly kept: readonly number[] },
): Sql {
  const first = firstDue(t, sql``);
  const ordinary =
    kept.length === 0
      ? first
      : sql`if(l.queue_id in ${list(kept)}, ${firstDue(t, sql`and r.due > ${now}`)}, ${first})`;
  const queueIds = [...new Set(takes.flatMap((take) => take.queueIds))];
  return sql`select min(if(l.line = ${ordinaryLine}, ${ordinary}, null)), min(if(l.line = ${aloneLine}, ${first}, null)), ${now},
    ${hasLines(t, queueIds)}
    from ${t.lanes} l straight_join ${t.queues} q on q.id = l.queue_id and q.paused = 0
    where l.line <= ${ordinaryLine} and (${lanesOf(takes)})`;
}

/** queue_id, line, due of the first job, and of the first that is not due yet; of up to `limit` lanes. Index: as above. */
export function peekLinesStatement(
  t: Tables,
  takes: readonly PeekedTake[],
  { now, limit }: { readonly now: Sql; readonly limit: number },
): Sql {
  return sql`select l.queue_id, l.line, ${firstDue(t, sql``)}, ${firstDue(t, sql`and r.due > ${now}`)}
    from ${t.lanes} l straight_join ${t.queues} q on q.id = l.queue_id and q.paused = 0
    where l.line > ${ordinaryLine} and (${lanesOf(takes)}) limit ${limit}`;
}

/** queue_id and home line of due jobs that must run alone, each once. Index: as above; primary of jobs. */
export function peekAloneStatement(
  t: Tables,
  takes: readonly PeekedTake[],
  { now, limit }: { readonly now: Sql; readonly limit: number },
): Sql {
  return sql`select distinct queue_id, home from (select l.queue_id, j.line as home
      from ${t.lanes} l straight_join ${t.queues} q on q.id = l.queue_id and q.paused = 0
      straight_join ${t.ready} r force index (by_name) on r.queue_id = l.queue_id and r.line = l.line
        and r.name_id = l.name_id and r.rnk = l.rnk and r.due <= ${now}
      straight_join ${t.jobs} j on j.id = r.id
      where l.line = ${aloneLine} and (${lanesOf(takes)}) limit ${limit}) alone`;
}

function firstDue(t: Tables, condition: Sql): Sql {
  return sql`(select r.due from ${t.ready} r force index (by_name) where r.queue_id = l.queue_id
    and r.line = l.line and r.name_id = l.name_id and r.rnk = l.rnk ${condition} order by r.due limit 1)`;
}

function lanesOf(takes: readonly PeekedTake[]): Sql {
  return join(
    takes.map(
      ({ queueIds, nameIds }) => sql`l.queue_id in ${list(queueIds)} and l.name_id in ${list(nameIds)}`,
    ),
    ' or ',
  );
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
