import { flag, ordinaryLine } from '../codes.js';
import type { Result } from '../driver.js';
import type { Lane } from '../lanes.js';
import { join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';
import {
  type Claimer,
  claimState,
  dueRows,
  hasLines,
  insertLeases,
  ofOneName,
  type QueueRead,
  readyColumns,
  skipLocked,
} from './claim.js';
import { laneSumNow } from './survey.js';

/** What a claim believes of its queues. */
export interface KnownQueues {
  /** Without lines. */
  readonly plain: readonly number[];
  /** With few lanes, and the sum over them. */
  readonly sums: readonly (readonly [queueId: number, sum: number])[];
}

/**
 * The time of the claim, and what it finds; `lined`: there are lines in one of the queues that were taken for queues without.
 */
export function beginStatements(
  t: Tables,
  { token, now, lanesAreCurrent }: Claimer & { readonly now: Sql; readonly lanesAreCurrent: Sql },
  { plain, sums }: KnownQueues,
): Sql[] {
  let fresh = sql`${claimState.fresh}`;
  if (sums.length > 0) {
    const known = sums.map(([queueId, sum]) => sql`${laneSumNow(t, queueId)} = ${sum}`);
    fresh = sql`if(${join(known, ' and ')}, ${fresh}, ${claimState.moved})`;
  }
  if (plain.length > 0) fresh = sql`if(${hasLines(t, plain)}, ${claimState.lined}, ${fresh})`;
  return [
    sql`select ${now}, if(exists(select 1 from ${t.leases} where token = ${token}), ${claimState.repeated},
      if(${lanesAreCurrent}, ${fresh}, ${claimState.stale})) into @now, @state`,
    sql`set @until = @now`,
    sql`select @state, @now`,
  ];
}

/** Index: primary. */
export function pausedAmong(t: Tables, queueIds: readonly number[]): Sql {
  return sql`select id from ${t.queues} where id in ${list(queueIds)} and paused = 1`;
}

const nothing = sql``;

/** rnk, due, id of the first ordinary jobs; nothing is locked. Index: as of the claim. */
export function peekOrdinary(t: Tables, read: QueueRead, limit: number): Sql {
  return sql`select rnk, due, id from ${dueRows(t, read, { line: ordinaryLine, limit, lock: nothing })}`;
}

export interface LaneRead {
  readonly lane: Lane;
  readonly limit: number;
}

/**
 * The first jobs of lanes of lines, for `peekedJobs`. Where one job of each is wanted a subquery per lane, which costs a
 * third of an arm of a union. Index: by_name of ready, one bounded range each; primary of lanes.
 */
export function peekLanes(t: Tables, reads: readonly LaneRead[]): Sql[] {
  const ones = reads.flatMap(({ lane, limit }, place) => (limit === 1 ? [{ lane, place }] : []));
  const mores = reads.flatMap(({ lane, limit }, place) => (limit > 1 ? [{ lane, limit, place }] : []));
  const statements: Sql[] = [];
  if (ones.length > 0) {
    const rows = ones.map(
      ({ lane: { queueId, line, rnk, nameId }, place }) =>
        sql`select ${place} as place, ${queueId} as queue_id, ${line} as line, ${rnk} as rnk, ${nameId} as name_id`,
    );
    const first = sql`(select concat(r.due, x'20', hex(r.id)) from ${t.ready} r force index (by_name)
      where r.queue_id = l.queue_id and r.line = l.line and r.name_id = l.name_id and r.rnk = l.rnk and r.due <= @until
      order by r.due, r.id limit 1)`;
    statements.push(sql`select l.place, ${first} from (${join(rows, ' union all ')}) l`);
  }
  if (mores.length > 0) {
    const arms = mores.map(
      ({ lane, limit, place }) =>
        sql`(select ${place}, due, id from ${ofOneName(t, lane, { line: lane.line, limit, lock: nothing })})`,
    );
    statements.push(join(arms, ' union all '));
  }
  return statements;
}

/** What these statements answered: the place of the lane in the list, due and id of each job. */
export function peekedJobs(results: readonly Result[]): { place: number; due: number; id: Buffer }[] {
  return results.flatMap(({ rows }) =>
    (rows as (readonly [number, number | string | Buffer | null, Buffer?])[]).flatMap(([place, due, id]) => {
      if (id !== undefined) return [{ place, due: Number(due), id }];
      if (due === null) return [];
      const [at, digits = ''] = String(due).split(' ');
      return [{ place, due: Number(at), id: Buffer.from(digits, 'hex') }];
    }),
  );
}

export interface OrdinaryQuota {
  readonly read: QueueRead;
  readonly count: number;
  /** The first so many are started. */
  readonly started: number;
  readonly isMetered: boolean;
}

/** So many ordinary jobs, or those that come next where another claim has taken some meanwhile. */
export function takeOrdinary(t: Tables, claimer: Claimer, quota: OrdinaryQuota): Sql[] {
  const { read, count, started, isMetered } = quota;
  const rows = dueRows(t, read, { line: ordinaryLine, limit: count, lock: skipLocked });
  const flags = isMetered ? sql`flags | ${flag.slotted}` : sql`flags`;
  const statements = [insertLeases(t, claimer, { rows, flags, isStarted: started >= count })];
  if (started > 0 && started < count) {
    const names = [...new Set(read.lanes.map(({ nameId }) => nameId))];
    statements.push(sql`update ${t.leases} set started = 1 where token = ${claimer.token} and queue_id = ${read.queueId}
      and line = ${ordinaryLine} and name_id in ${list(names)} order by rnk, due, id limit ${started}`);
  }
  return statements;
}

export interface LaneQuota extends LaneRead {
  readonly isMetered: boolean;
}

export function takeLanes(t: Tables, claimer: Claimer, quotas: readonly LaneQuota[]): Sql {
  const each = quotas.map(({ lane, limit, isMetered }) => {
    const flags = isMetered ? sql`flags | ${flag.slotted}` : sql`flags`;
    return sql`(select id, queue_id, line, rnk, due, name_id, ${flags} as flags from ${ofOneName(t, lane, { line: lane.line, limit, lock: skipLocked })})`;
  });
  return insertLeases(t, claimer, {
    rows: sql`(${join(each, ' union all ')}) u`,
    flags: sql`flags`,
    isStarted: true,
  });
}

/**
 * For all leases of the token that count. A job that runs alone counts for the line it was dispatched into. Index: primary
 * of leases (prefix), jobs and lines.
 */
export function insertSlots(
  t: Tables,
  token: Sql,
  {
    queueGates,
    runsAlone,
  }: { readonly queueGates: ReadonlyMap<number, number>; readonly runsAlone: boolean },
): Sql {
  const whens = [...queueGates].map(([queueId, gate]) => sql`when ${queueId} then ${gate}`);
  const queueGate = whens.length === 0 ? sql`null` : sql`case l.queue_id ${join(whens, ' ')} end`;
  const line = runsAlone
    ? sql`straight_join ${t.jobs} j on j.id = l.id left join ${t.lines} n on n.id = j.line`
    : sql`left join ${t.lines} n on n.id = l.line`;
  return sql`insert into ${t.slots} (id, queue_gate, key_gate, group_gate, cost, max_running)
    select l.id, ${queueGate}, n.key_gate, n.group_gate, coalesce(n.cost, 1), n.max_running from ${t.leases} l ${line}
    where l.token = ${token} and (l.flags & ${flag.slotted}) <> 0`;
}

/** Gates that this transaction has locked. Index: primary. */
export function serveGates(t: Tables, served: ReadonlyMap<number, number>): Sql {
  const whens = [...served].map(([gate, at]) => sql`when ${gate} then ${at}`);
  return sql`update ${t.gates} set served = case id ${join(whens, ' ')} end where id in ${list([...served.keys()])}`;
}

/** Jobs that must run alone, in order, with their home line. Index: as of the claim; primary of jobs. */
export function peekAlone(t: Tables, read: QueueRead, limit: number): Sql {
  return sql`select r.rnk, r.due, r.id, r.name_id, j.line from (select ${readyColumns}
      from ${dueRows(t, read, { line: -1, limit, lock: nothing })}) r
    straight_join ${t.jobs} j on j.id = r.id order by r.rnk, r.due, r.id`;
}

export interface ReadyKey {
  readonly queueId: number;
  readonly line: number;
  readonly rnk: number;
  readonly due: number;
  readonly id: Sql;
}

/** Ranges that the optimizers of both servers still plan as ranges. */
const keysAtOnce = 200;

/** Jobs by their places. Index: primary, one row each. */
export function takeKeys(
  t: Tables,
  claimer: Claimer,
  how: { readonly keys: readonly ReadyKey[]; readonly isMetered: boolean; readonly isStarted: boolean },
): Sql[] {
  const statements: Sql[] = [];
  for (let at = 0; at < how.keys.length; at += keysAtOnce) {
    const tuples = how.keys
      .slice(at, at + keysAtOnce)
      .map(({ queueId, line, rnk, due, id }) => sql`(${queueId}, ${line}, ${rnk}, ${due}, ${id})`);
    statements.push(
      insertLeases(t, claimer, {
        rows: sql`${t.ready} force index (primary) where (queue_id, line, rnk, due, id) in ${list(tuples)} ${skipLocked}`,
        flags: how.isMetered ? sql`flags | ${flag.slotted}` : sql`flags`,
        isStarted: how.isStarted,
      }),
    );
  }
  return statements;
}
