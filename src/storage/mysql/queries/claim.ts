import { type aloneLine, ordinaryLine } from '../codes.js';
import type { Lane } from '../lanes.js';
import { int, join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** What a claim reads of one queue. */
export interface QueueRead {
  readonly queueId: number;
  /** Lanes of the ordinary line (or of jobs that run alone) with names that the worker knows; none: nothing to take here. */
  readonly lanes: readonly Lane[];
  /** Jobs of other names have been seen in the line. */
  readonly isShared: boolean;
  /** Ranks in which such jobs stand now: read by the second index, so that they are never walked over. */
  readonly foreignRanks: ReadonlySet<number>;
}

/** One part of a claim. */
export interface TakePlan {
  readonly limit: number;
  readonly start: number;
  readonly nameIds: readonly number[];
  /** In the order in which they are served. */
  readonly reads: readonly QueueRead[];
}

/** Who claims, and when. */
export interface Claimer {
  readonly token: Sql;
  readonly workerId: number;
  readonly leaseMs: number;
}

export interface ClaimPlan extends Claimer {
  readonly now: Sql;
  readonly takes: readonly TakePlan[];
  readonly queueIds: readonly number[];
  /** Holds while the lanes of the plan are all there are. */
  readonly lanesAreCurrent: Sql;
}

/** What the first statement of a claim finds; `moved`: lanes of lines came or went. */
export const claimState = Object.freeze({ stale: 0, fresh: 1, repeated: 2, lined: 3, moved: 4 } as const);

/**
 * The claim of ordinary jobs in one packet, inside a transaction: 1. Is it a repeat, are the lanes current, are there jobs
 * of other lines? 2. Per queue, move the keys of what is due into leases, as many as are still wanted. 3. Take them out of
 * ready. 4. Return them. The last two results are the jobs and the state; nothing is taken unless it is `fresh`.
 */
export function claimStatements(t: Tables, plan: ClaimPlan): Sql[] {
  return [
    sql`select ${plan.now}, if(exists(select 1 from ${t.leases} where token = ${plan.token}), ${claimState.repeated},
      if(${plan.lanesAreCurrent}, if(${hasLines(t, plan.queueIds)}, ${claimState.lined}, ${claimState.fresh}),
      ${claimState.stale})) into @now, @state`,
    ...plan.takes.flatMap((take) => takeStatements(t, plan, take)),
    leaveReady(t, plan.token),
    claimedRows(t, plan.token),
    sql`select @state`,
  ];
}

/** Index: primary of lanes, one dive per queue. */
export function hasLines(t: Tables, queueIds: readonly number[]): Sql {
  return sql`exists(select 1 from ${t.lanes} where queue_id in ${list(queueIds)} and line > ${ordinaryLine})`;
}

/** Index: primary of both; the leases of the token first. */
export function leaveReady(t: Tables, token: Sql): Sql {
  return sql`delete r from ${t.leases} l straight_join ${t.ready} r on r.queue_id = l.queue_id and r.line = l.line
    and r.rnk = l.rnk and r.due = l.due and r.id = l.id where l.token = ${token}`;
}

/** Index: primary of leases (prefix), jobs and marks. */
export function claimedRows(t: Tables, token: Sql): Sql {
  return sql`select l.id, l.queue_id, l.rnk, l.due, l.name_id, l.flags, l.started, l.claimed_at, l.worker_id,
    j.payload, j.max_attempts, j.retention, j.created_at, m.attempts, m.deaths, m.lapses, m.errors, j.version, j.line, l.line
    from ${t.leases} l straight_join ${t.jobs} j on j.id = l.id
    left join ${t.marks} m on (l.flags & 1) = 1 and m.id = l.id where l.token = ${token}`;
}

function takeStatements(t: Tables, plan: ClaimPlan, take: TakePlan): Sql[] {
  return [
    sql`set @rest = if(@state = ${claimState.fresh}, ${take.limit}, 0)`,
    ...take.reads.flatMap((read) => takeFromQueue(t, plan, { take, read })),
    ...(take.reads.length > 1 ? [giveBackOvershoot(t, plan, take)] : []),
    ...(take.start > 0 && take.start < take.limit ? [markFirstStarted(t, plan, take)] : []),
  ];
}

/** The bound of the range is −1 where nothing is to be taken (enough taken, paused): the range is then empty at once. */
function takeFromQueue(
  t: Tables,
  plan: ClaimPlan,
  { take, read }: { readonly take: TakePlan; readonly read: QueueRead },
): Sql[] {
  if (read.lanes.length === 0) return [];
  const rows = dueRows(t, read, { line: ordinaryLine, limit: take.limit, lock: skipLocked });
  return [
    sql`set @until = if(@rest > 0 and (select paused from ${t.queues} where id = ${read.queueId}) = 0, @now, -1)`,
    insertLeases(t, plan, { rows, flags: sql`flags`, isStarted: take.start >= take.limit }),
    sql`set @rest = @rest - row_count()`,
  ];
}

/** From rows with the columns of `readyColumns`. */
export function insertLeases(
  t: Tables,
  { token, workerId, leaseMs }: Claimer,
  { rows, flags, isStarted }: { readonly rows: Sql; readonly flags: Sql; readonly isStarted: boolean },
): Sql {
  return sql`insert into ${t.leases} (token, id, queue_id, line, rnk, due, name_id, flags, stop, started, worker_id,
      claimed_at, lease_until) select ${token}, id, queue_id, line, rnk, due, name_id, ${flags}, 0, ${int(isStarted)},
      ${workerId}, @now, @now + ${leaseMs} from ${rows}`;
}

export const readyColumns = sql`id, queue_id, line, rnk, due, name_id, flags`;

export const skipLocked = sql`for update skip locked`;

/** Which rows of a queue are read, and how. */
export interface DueRead {
  readonly line: typeof ordinaryLine | typeof aloneLine;
  readonly limit: number;
  readonly lock: Sql;
}

/** The first that are due (until `@until`) of a queue, in the order of the claim: what comes after `from`. */
export function dueRows(t: Tables, read: QueueRead, due: DueRead): Sql {
  const near = read.lanes.filter(({ rnk }) => !read.foreignRanks.has(rnk));
  const beside = read.lanes.filter(({ rnk }) => read.foreignRanks.has(rnk));
  if (beside.length === 0) return inClaimOrder(t, read, near, due);
  const each = beside.map((lane) => sql`(select ${readyColumns} from ${ofOneName(t, lane, due)})`);
  if (near.length > 0) each.push(sql`(select ${readyColumns} from ${inClaimOrder(t, read, near, due)})`);
  return sql`(${join(each, ' union all ')}) u order by rnk, due, id limit ${due.limit}`;
}

/** Index: primary of ready, one bounded range per rank, in its order. */
function inClaimOrder(
  t: Tables,
  { queueId, isShared }: QueueRead,
  lanes: readonly Lane[],
  { line, limit, lock }: DueRead,
): Sql {
  const ranks = [...new Set(lanes.map(({ rnk }) => rnk))].sort((a, b) => a - b);
  const names = [...new Set(lanes.map(({ nameId }) => nameId))];
  const filter = isShared ? sql`and name_id in ${list(names)}` : sql``;
  return sql`${t.ready} force index (primary) where queue_id = ${queueId} and line = ${line}
    and rnk in ${list(ranks)} and due <= @until ${filter} order by rnk, due, id limit ${limit} ${lock}`;
}

/** Index: by_name of ready, one bounded range. */
export function ofOneName(
  t: Tables,
  { queueId, rnk, nameId }: Lane,
  { line, limit, lock }: { readonly line: number; readonly limit: number; readonly lock: Sql },
): Sql {
  return sql`${t.ready} force index (by_name) where queue_id = ${queueId} and line = ${line}
    and name_id = ${nameId} and rnk = ${rnk} and due <= @until order by due, id limit ${limit} ${lock}`;
}

/** Every queue may have given a whole limit: what is beyond stays in ready, where it still stands. */
function giveBackOvershoot(t: Tables, plan: ClaimPlan, take: TakePlan): Sql {
  return sql`delete l from ${t.leases} l straight_join (select id from (
      select id, row_number() over (order by ${claimOrder(take)}) as place from ${t.leases}
      where token = ${plan.token} ${ofTake(plan, take)} and @rest < 0) numbered where place > ${take.limit}) beyond
    on beyond.id = l.id where l.token = ${plan.token}`;
}

function markFirstStarted(t: Tables, plan: ClaimPlan, take: TakePlan): Sql {
  return sql`update ${t.leases} set started = 1 where token = ${plan.token} ${ofTake(plan, take)}
    and @state = ${claimState.fresh} order by ${claimOrder(take)} limit ${take.start}`;
}

/** The takes of a claim are disjoint. */
function ofTake(plan: ClaimPlan, take: TakePlan): Sql {
  if (plan.takes.length === 1) return sql``;
  const queueIds = take.reads.map(({ queueId }) => queueId);
  return sql`and queue_id in ${list(queueIds)} and name_id in ${list(take.nameIds)}`;
}

function claimOrder(take: TakePlan): Sql {
  const ids = take.reads.map(({ queueId }) => queueId);
  return ids.length > 1 ? sql`field(queue_id, ${ids}), rnk, due, id` : sql`rnk, due, id`;
}
