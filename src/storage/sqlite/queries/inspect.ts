import { boundLimit } from '../bound-limit.js';

const summary = `
  row, id, kind, status, rank, attempts, max_attempts as maxAttempts, deaths, created_at as createdAt, due_at as dueAt,
  claimed_at as claimedAt, finished_at as finishedAt, worker`;

export interface SummaryRow {
  readonly row: number;
  readonly id: Buffer;
  readonly kind: number;
  readonly status: number;
  readonly rank: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly deaths: number;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly claimedAt: number | null;
  readonly finishedAt: number | null;
  readonly worker: string | null;
}

export interface RecordRow extends SummaryRow {
  readonly version: number;
  readonly payload: string;
  readonly result: string | null;
  readonly errors: string | null;
  readonly outcome: 'skipped' | null;
  readonly reason: string | null;
  readonly stop: number | null;
  readonly leaseUntil: number | null;
  readonly started: number;
  readonly lapses: number;
  readonly line: number;
  readonly uniqueKey: string | null;
  readonly retentionMs: number | null;
}

/** By primary key. */
export const summaryOf = `select ${summary} from jobs where row = ?`;

/** Index jobs_id. */
export const recordOf = `
  select ${summary}, version, payload, result, errors, outcome, reason, stop, lease_until as leaseUntil, started, lapses,
    line, unique_key as uniqueKey, retention_ms as retentionMs
  from jobs indexed by jobs_id where id = ?`;

/** Index tags_row, covered. */
export const tagsOf = 'select tag from tags indexed by tags_row where row = ? order by tag';

/** By primary key. */
export const errorsOf = 'select errors from jobs where row = ?';

/** By primary keys. */
export const waitsFor = `
  select p.id from edges e cross join jobs p not indexed on p.row = e.parent where e.child = ? and e.open = 1 order by e.parent`;

/** By primary keys. */
export const waitedFor = `
  select p.id from edges e cross join jobs p not indexed on p.row = e.parent where e.child = ? order by e.parent`;

/** Index jobs_id. */
export const endingOf = 'select status, result, errors, reason from jobs indexed by jobs_id where id = ?';

export interface ListedRow {
  readonly row: number;
  readonly id: Buffer;
  readonly kind: number;
}

/** Index jobs_lease, whole: as many rows as jobs run at this moment. */
export const listProcessing = `
  select row, id, kind from jobs indexed by jobs_lease
  where status = 2 and id < ? order by id desc`;

/** Index jobs_listed. */
export const listById = `
  select row, id, kind from jobs indexed by jobs_listed
  where status = ? and status not in (0, 2) and id < ? order by id desc ${boundLimit}`;

/** By primary key of tags, backwards, then index jobs_id. */
export const listTagged = `
  select row, id, (select kind from jobs j where j.row = t.row) as kind
  from tags t where tag = ? and id < ? order by id desc ${boundLimit}`;

export interface PlaceRow {
  readonly row: number;
  readonly queue: number;
  readonly line: number;
  readonly rank: number;
  readonly dueAt: number;
  readonly id: Buffer;
}

/** Index jobs_id. */
export const pendingPlace = `
  select row, queue, line, rank, due_at as dueAt, id from jobs indexed by jobs_id where id = ? and status = 0`;

/** Index jobs_claim, covered: a range, up to a number. */
export const countDueUpTo = `
  select count(*) from (
    select 1 from jobs indexed by jobs_claim
    where status = 0 and queue = ? and kind = ? and line = ? and rank = ? and due_at <= ? ${boundLimit})`;

/** Index jobs_claim, covered: those of a rank before a place; the bound by due time alone is what ends the range. */
export const countBefore = `
  select count(*) from (
    select 1 from jobs indexed by jobs_claim
    where status = 0 and queue = ? and kind = ? and line = ? and rank = ? and due_at <= ?
      and (due_at, id) < (?, ?) ${boundLimit})`;

export interface PendingRow extends ListedRow {
  readonly line: number;
  readonly rank: number;
  readonly dueAt: number;
}

/** Index jobs_claim, covered. */
export const listPending = `
  select row, id, kind, line, rank, due_at as dueAt from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and (line, rank, due_at, id) > (?, ?, ?, ?)
  order by line, rank, due_at, id ${boundLimit}`;

/** Index jobs_claim: the next queue with waiting jobs; one seek. */
export const nextLiveQueue = `
  select queue from jobs indexed by jobs_claim where status = 0 and queue > ? order by queue limit 1`;

/** Index jobs_claim, covered: a range. */
export const countPending = 'select count(*) from jobs indexed by jobs_claim where status = 0 and queue = ?';

/** Index jobs_claim, covered: a range. */
export const countDue = `
  select count(*) from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank = ? and due_at <= ?`;

export interface DueRow {
  readonly count: number;
  readonly oldest: number | null;
}

/** Index jobs_claim, covered: all that waits of a kind whose jobs stand in lines. */
export const countDueInLines = `
  select count(*) as count, min(due_at) as oldest from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line > 0 and due_at <= ?`;

/** Index jobs_blocked, covered. */
export const countBlocked = `
  select queue, count(*) as n from jobs indexed by jobs_blocked where status = 1 group by queue`;

/** Index jobs_lease, whole. */
export const countProcessing = `
  select queue, count(*) as n from jobs indexed by jobs_lease where status = 2 group by queue`;

/** Index jobs_claim, whole: only asked by people who shorten an id. */
export const pendingEndingIn = `
  select id from jobs indexed by jobs_claim where status = 0 and hex(id) like ? ${boundLimit}`;

/** Index jobs_lease, whole. */
export const processingEndingIn = `
  select id from jobs indexed by jobs_lease where status = 2 and hex(id) like ? ${boundLimit}`;

/** Index jobs_listed: the newest of a status. */
export const listedEndingIn = `
  select id from (
    select id from jobs indexed by jobs_listed where status = ? and status not in (0, 2) order by id desc ${boundLimit})
  where hex(id) like ? ${boundLimit}`;
