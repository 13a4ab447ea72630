import { ordinaryLine } from '../codes.js';
import { marksColumns } from '../marks.js';
import { hexId, hexText, join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Columns of a summary, after those of the marks. */
const summaryColumns = (
  t: Tables,
): Sql => sql`j.id, j.name_id, j.queue_id, j.rnk, j.due, j.created_at, j.max_attempts,
  f.status, f.due, f.claimed_at, f.finished_at, f.worker_id, l.id is not null, l.claimed_at, l.worker_id, w.id is not null,
  (select group_concat(g.tag separator x'20') from ${t.tags} g force index (by_job) where g.job_id = j.id)`;

const recordColumns = sql`j.version, j.payload, j.retention, j.unique_key, f.result, f.outcome, f.reason, l.stop, l.lease_until, l.started, j.line`;

function placesOf(t: Tables): Sql {
  return sql`${t.jobs} j left join ${t.marks} m on m.id = j.id left join ${t.finals} f on f.id = j.id
    left join ${t.leases} l on l.id = j.id left join ${t.waiting} w on w.id = j.id`;
}

/** Index: primary of all but leases: by_id. */
export function recordStatement(t: Tables, id: Sql): Sql {
  return sql`select ${marksColumns}, ${summaryColumns(t)}, ${recordColumns} from ${placesOf(t)} where j.id = ${id}`;
}

/** Index: primary. */
export function nameIdStatement(t: Tables, id: Sql): Sql {
  return sql`select name_id from ${t.jobs} where id = ${id}`;
}

/** No payload is read, and of the marks no texts. Index as above. */
export function summariesStatement(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select m.id, m.attempts, m.deaths, m.lapses, m.line, m.due, m.spent, m.claimed_at, m.worker_id, null, null,
    ${summaryColumns(t)} from ${placesOf(t)} where j.id in ${list(ids)}`;
}

/** id, final status, is leased, is blocked, result, errors, reason. Index as above. */
export function endingsStatement(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select j.id, f.status, l.id is not null, w.id is not null, f.result, m.errors,
    if(f.id is null, if(l.id is null, m.reason, null), f.reason) from ${placesOf(t)} where j.id in ${list(ids)}`;
}

const newestFinals = 10_000;

/** Hex digits that ids end in; walks over live jobs, and the newest final ones by primary. */
export function idsEndingInStatement(t: Tables, digits: string): Sql {
  const ends = sql`right(hex(id), ${digits.length}) = ${hexText(digits.toUpperCase())}`;
  const live = [t.ready, t.leases, t.waiting].map(
    (table) => sql`(select id from ${table} where ${ends} limit 10)`,
  );
  const final = sql`(select id from (select id from ${t.finals} force index (primary) order by id desc
    limit ${newestFinals}) newest where ${ends} limit 10)`;
  return join([...live, final], ' union all ');
}

/**
 * Everything that is counted, in one statement and so at one moment: kind (0 ready, 1 leases, 2 waiting, 3 finals), queue,
 * a detail (ready: line × 10 + is due, where all lines but that of jobs that run alone are one; finals: status), count, earliest due. Index: primary of ready, by_queue of waiting.
 */
export function countsStatement(t: Tables, queueId: number | null, now: Sql): Sql {
  const where = queueId === null ? sql`` : sql`where queue_id = ${queueId}`;
  const detail = sql`if(line < ${ordinaryLine}, line, ${ordinaryLine}) * 10 + (due <= ${now})`;
  return sql`select 0, queue_id, ${detail}, count(*), min(due) from ${t.ready} ${where}
      group by queue_id, ${detail}
    union all select 1, queue_id, 0, count(*), null from ${t.leases} ${where} group by queue_id
    union all select 2, queue_id, 0, count(*), null from ${t.waiting} ${where} group by queue_id
    union all select 3, queue_id, status, sum(n), null from (
      select queue_id, status, n from ${t.counts} ${where} union all select queue_id, status, n from ${t.deltas} ${where}
    ) ended group by queue_id, status`;
}

/** id, paused, has ever had a job, now. */
export function queuesStatement(t: Tables, queueId: number | null, now: Sql): Sql {
  return sql`select id, paused, lanes > 0, ${now} from ${t.queues} ${queueId === null ? sql`` : sql`where id = ${queueId}`}`;
}

/** Place of the last row of a page, by section. */
export type ListKey =
  | {
      readonly by: 'claim';
      readonly numbers: readonly [queueId: number, line: number, rnk: number, due: number];
      readonly id: string;
    }
  | { readonly by: 'id'; readonly id: string };

export interface ListRequest {
  readonly queueIds: readonly number[];
  /** The filter names a queue: only then is `queueIds` a bound. */
  readonly oneQueue: boolean;
  readonly after: ListKey | null;
  readonly count: number;
}

const listColumns = sql`id, queue_id, name_id`;

/** Newest first. Index: by_id. */
export function listLeases(t: Tables, request: ListRequest): Sql {
  return sql`select ${listColumns} from ${t.leases} force index (by_id) where ${olderThan(request)}
    order by id desc limit ${request.count}`;
}

/** Newest first. Index: by_queue where a queue is named, else primary. */
export function listWaiting(t: Tables, request: ListRequest): Sql {
  return request.oneQueue
    ? sql`select ${listColumns} from ${t.waiting} force index (by_queue) where queue_id = ${request.queueIds[0] ?? 0}
        and ${olderThan(request)} order by id desc limit ${request.count}`
    : sql`select ${listColumns} from ${t.waiting} force index (primary) where ${olderThan(request)}
        order by id desc limit ${request.count}`;
}

/** Newest first. Index: by_queue, one bounded range per queue. */
export function listFinals(t: Tables, request: ListRequest, status: number): Sql {
  const each = request.queueIds.map(
    (
      queueId,
    ) => sql`(select ${listColumns} from ${t.finals} force index (by_queue) where queue_id = ${queueId}
      and status = ${status} and ${olderThan(request)} order by id desc limit ${request.count})`,
  );
  return sql`select ${listColumns} from (${join(each, ' union all ')}) each_queue order by id desc limit ${request.count}`;
}

/** In claim order. Index: primary. */
export function listReady(t: Tables, request: ListRequest): Sql {
  const bounds = [
    ...(request.oneQueue ? [sql`queue_id = ${request.queueIds[0] ?? 0}`] : []),
    ...(request.after?.by === 'claim' ? [sql`(${beyondClaim(request.after)})`] : []),
  ];
  const where = bounds.length === 0 ? sql`` : sql`where ${join(bounds, ' and ')}`;
  return sql`select ${listColumns}, line, rnk, due from ${t.ready} force index (primary) ${where}
    order by queue_id, line, rnk, due, id limit ${request.count}`;
}

/** As a chain of ranges, which the optimizer reads in order; a comparison of tuples it does not. */
function beyondClaim({ numbers, id }: Extract<ListKey, { by: 'claim' }>): Sql {
  const columns = [sql`queue_id`, sql`line`, sql`rnk`, sql`due`];
  const equal = (count: number): Sql[] =>
    columns.slice(0, count).map((column, index) => sql`${column} = ${numbers[index] ?? 0}`);
  const ranges = columns.map((column, index) =>
    join([...equal(index), sql`${column} > ${numbers[index] ?? 0}`], ' and '),
  );
  ranges.push(join([...equal(columns.length), sql`id > ${hexId(id)}`], ' and '));
  return join(
    ranges.map((range) => sql`(${range})`),
    ' or ',
  );
}

function olderThan({ after }: ListRequest): Sql {
  return after?.by === 'id' ? sql`id < ${hexId(after.id)}` : sql`1 = 1`;
}

/** id, errors, of those that have failed. Index: primary. */
export function errorsStatement(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select id, errors from ${t.marks} where id in ${list(ids)} and errors is not null`;
}

/** Jobs with a tag, newest first. Index: primary. */
export function listTagged(t: Tables, tag: string, request: Pick<ListRequest, 'after' | 'count'>): Sql {
  const bound = request.after?.by === 'id' ? sql`and job_id < ${hexId(request.after.id)}` : sql``;
  return sql`select job_id, 0, 0 from ${t.tags} force index (primary) where tag = ${hexText(tag)} ${bound}
    order by job_id desc limit ${request.count}`;
}

/** queue_id, line, rnk, due of a pending job. Index: primary of jobs, marks and ready. */
export function pendingPlace(t: Tables, id: Sql): Sql {
  return sql`select r.queue_id, r.line, r.rnk, r.due from ${t.jobs} j left join ${t.marks} m on m.id = j.id
    straight_join ${t.ready} r force index (primary) on r.queue_id = j.queue_id and r.line = coalesce(m.line, j.line, 0)
      and r.rnk = j.rnk and r.due = coalesce(m.due, j.due) and r.id = j.id
    where j.id = ${id}`;
}

const mostAhead = 10_000;

export interface PendingPlace {
  readonly queueId: number;
  readonly line: number;
  readonly rnk: number;
  readonly due: number;
}

/**
 * How many due jobs stand before a place. Index: primary of lanes and ready, one bounded range for each higher rank, and
 * one that ends at the place.
 */
export function aheadStatement(t: Tables, id: Sql, { queueId, line, rnk, due }: PendingPlace, now: Sql): Sql {
  return sql`select count(*) from (
    (select 1 from (select distinct rnk from ${t.lanes} where queue_id = ${queueId} and line = ${line} and rnk < ${rnk}) k
      straight_join ${t.ready} r force index (primary) on r.queue_id = ${queueId} and r.line = ${line} and r.rnk = k.rnk
        and r.due <= ${now} limit ${mostAhead})
    union all
    (select 1 from ${t.ready} force index (primary) where queue_id = ${queueId} and line = ${line} and rnk = ${rnk}
      and due <= least(${now}, ${due}) and (due < ${due} or id < ${id}) limit ${mostAhead})
    limit ${mostAhead}) before_it`;
}
