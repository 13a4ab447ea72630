import { aloneLine, ordinaryLine } from '../codes.js';
import type { Lane } from '../lanes.js';
import { int, join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** What a claim reads of one queue. */
export interface QueueRead {
  readonly queueId: number;
  /** Lanes of this line with names that the worker knows; none: nothing to take here. */
  readonly lanes: readonly Lane[];
  /** Jobs of other names have been seen in the line. */
  readonly isShared: boolean;
  /** Ranks in which such jobs stand now: read by the second index, so that they are never walked over. */
  readonly foreignRanks: ReadonlySet<number>;
}

export interface ClaimPlan {
  readonly token: Sql;
  readonly workerId: number;
  readonly leaseMs: number;
  readonly limit: number;
  readonly start: number;
  readonly alone: boolean;
  readonly now: Sql;
  /** In the order in which they are served. */
  readonly reads: readonly QueueRead[];
  /** Holds while the lanes of the plan are all there are. */
  readonly lanesAreCurrent: Sql;
}

/**
 * The claim in one packet, inside a transaction: 1. Is it a repeat, are the lanes current? 2. Per queue, move the keys of
 * what is due into leases, as many as are still wanted. 3. Take them out of ready. 4. Return them. The last two results
 * are the jobs and the state (0 = lanes are stale, nothing was taken; 1 = fresh; 2 = a repeat of the token).
 */
export function claimStatements(t: Tables, plan: ClaimPlan): Sql[] {
  const { token } = plan;
  return [
    sql`select ${plan.now}, if(exists(select 1 from ${t.leases} where token = ${token}), 2,
      if(${plan.lanesAreCurrent}, 1, 0)) into @now, @state`,
    sql`set @rest = if(@state = 1, ${plan.limit}, 0)`,
    ...plan.reads.flatMap((read) => takeFromQueue(t, plan, read)),
    ...(plan.reads.length > 1 ? [giveBackOvershoot(t, plan)] : []),
    ...(plan.start > 0 && plan.start < plan.limit ? [markFirstStarted(t, plan)] : []),
    // Index: primary of both; the leases of the token first.
    sql`delete r from ${t.leases} l straight_join ${t.ready} r on r.queue_id = l.queue_id and r.line = l.line
      and r.rnk = l.rnk and r.due = l.due and r.id = l.id where l.token = ${token}`,
    sql`select l.id, l.queue_id, l.rnk, l.due, l.name_id, l.flags, l.started, l.claimed_at, l.worker_id,
      j.payload, j.max_attempts, j.retention, j.created_at, m.attempts, m.deaths, m.lapses, m.errors, j.version
      from ${t.leases} l straight_join ${t.jobs} j on j.id = l.id
      left join ${t.marks} m on (l.flags & 1) = 1 and m.id = l.id where l.token = ${token}`,
    sql`select @state`,
  ];
}

/** The bound of the range is −1 where nothing is to be taken (enough taken, paused): the range is then empty at once. */
function takeFromQueue(t: Tables, plan: ClaimPlan, read: QueueRead): Sql[] {
  if (read.lanes.length === 0) return [];
  const isStarted = int(plan.start >= plan.limit);
  return [
    sql`set @until = if(@rest > 0 and (select paused from ${t.queues} where id = ${read.queueId}) = 0, @now, -1)`,
    sql`insert into ${t.leases} (token, id, queue_id, line, rnk, due, name_id, flags, stop, started, worker_id,
      claimed_at, lease_until) select ${plan.token}, id, queue_id, line, rnk, due, name_id, flags, 0, ${isStarted},
      ${plan.workerId}, @now, @now + ${plan.leaseMs} from ${dueRows(t, plan, read)}`,
    sql`set @rest = @rest - row_count()`,
  ];
}

const columns = sql`id, queue_id, line, rnk, due, name_id, flags`;

function dueRows(t: Tables, plan: ClaimPlan, read: QueueRead): Sql {
  const near = read.lanes.filter(({ rnk }) => !read.foreignRanks.has(rnk));
  const beside = read.lanes.filter(({ rnk }) => read.foreignRanks.has(rnk));
  if (beside.length === 0) return inClaimOrder(t, plan, read, near);
  const each = beside.map((lane) => sql`(select ${columns} from ${ofOneName(t, plan, lane)})`);
  if (near.length > 0) each.push(sql`(select ${columns} from ${inClaimOrder(t, plan, read, near)})`);
  return sql`(${join(each, ' union all ')}) u order by rnk, due, id limit ${plan.limit}`;
}

/** Index: primary of ready, one bounded range per rank, in its order. */
function inClaimOrder(t: Tables, plan: ClaimPlan, read: QueueRead, lanes: readonly Lane[]): Sql {
  const ranks = [...new Set(lanes.map(({ rnk }) => rnk))].sort((a, b) => a - b);
  const names = [...new Set(lanes.map(({ nameId }) => nameId))];
  const filter = read.isShared ? sql`and name_id in ${list(names)}` : sql``;
  return sql`${t.ready} force index (primary) where queue_id = ${read.queueId} and line = ${lineOf(plan)}
    and rnk in ${list(ranks)} and due <= @until ${filter} order by rnk, due, id limit ${plan.limit} for update skip locked`;
}

/** Index: by_name of ready, one bounded range. */
function ofOneName(t: Tables, plan: ClaimPlan, { queueId, rnk, nameId }: Lane): Sql {
  return sql`${t.ready} force index (by_name) where queue_id = ${queueId} and line = ${lineOf(plan)}
    and name_id = ${nameId} and rnk = ${rnk} and due <= @until order by due, id limit ${plan.limit} for update skip locked`;
}

const lineOf = ({ alone }: ClaimPlan): number => (alone ? aloneLine : ordinaryLine);

/** Every queue may have given a whole limit: what is beyond stays in ready, where it still stands. */
function giveBackOvershoot(t: Tables, plan: ClaimPlan): Sql {
  return sql`delete l from ${t.leases} l straight_join (select id from (
      select id, row_number() over (order by ${claimOrder(plan)}) as place from ${t.leases}
      where token = ${plan.token} and @rest < 0) numbered where place > ${plan.limit}) beyond
    on beyond.id = l.id where l.token = ${plan.token}`;
}

function markFirstStarted(t: Tables, plan: ClaimPlan): Sql {
  return sql`update ${t.leases} set started = 1 where token = ${plan.token} and @state = 1
    order by ${claimOrder(plan)} limit ${plan.start}`;
}

function claimOrder(plan: ClaimPlan): Sql {
  const ids = plan.reads.map(({ queueId }) => queueId);
  return ids.length > 1 ? sql`field(queue_id, ${ids}), rnk, due, id` : sql`rnk, due, id`;
}
