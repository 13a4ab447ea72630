import { boundLimit } from '../bound-limit.js';

/** What a claim returns of each job, in this order. */
export type ClaimTuple = readonly [
  /** In hexadecimal digits: a blob would be a Buffer of its own, which costs more than all the rest of the row. */
  id: string,
  kind: number,
  rank: number,
  dueAt: number,
  attempts: number,
  maxAttempts: number,
  deaths: number,
  lapses: number,
  started: number,
  createdAt: number,
  scope: number,
  version: number,
  payload: string,
  errors: string | null,
];

/** The same of a job that may stand in a line. */
export type LinedTuple = readonly [...ClaimTuple, line: number, row: number];

const returned =
  'lower(hex(id)), kind, rank, due_at, attempts, max_attempts, deaths, lapses, started, created_at, scope, version, payload, errors';

const returnedLined = `${returned}, line, row`;

const lend = `
  status = 2, token = ?, lease_until = ?, claimed_at = ?, worker = ?, started = ?,
  leases = leases + 1, reason = null, stop = null`;

const range = `
  from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank = ? and due_at <= ?
  order by due_at, jobs.id ${boundLimit}`;

/** Index jobs_claim: one bounded range, in order. Read first and then lent: a returning of the update costs half as much again as both. */
export const dueRange = `select ${returned} ${range}`;

/** Index jobs_claim: the same range, in the same transaction. */
export const lendRange = `
  update jobs set ${lend}, metered = 0
  where row in (select row ${range})`;

/** By primary key: rows that were chosen in this transaction, as a JSON array. */
export const claimRows = `
  update jobs not indexed set ${lend}, metered = 0
  where row in (select value from json_each(?)) and status = 0
  returning ${returned}`;

/** By primary key: the same for rows that may stand in lines. */
export const claimLinedRows = `
  update jobs not indexed set ${lend}, metered = ?
  where row in (select value from json_each(?)) and status = 0
  returning ${returnedLined}`;

/** Index jobs_claim: the next kind of the queue that has waiting jobs; one seek. */
export const nextLiveKind = `
  select kind from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind > ? order by kind limit 1`;

/** Index jobs_claim: the next rank of a kind; one seek. */
export const nextRank = `
  select rank from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank > ? order by rank limit 1`;

/** Index jobs_claim, covered. Ids in hexadecimal digits, which are in the same order. */
export const candidates = `
  select row, due_at as dueAt, hex(id) as id from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank = ? and due_at <= ?
    and (due_at, jobs.id) > (?, ?)
  order by due_at, jobs.id ${boundLimit}`;

/** Index jobs_claim: when the first of a rank falls due; one seek. */
export const firstDue = `
  select due_at from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank = ? order by due_at limit 1`;

/** Index jobs_lease. */
export const heldUnderToken = `
  select ${returnedLined} from jobs indexed by jobs_lease where status = 2 and token = ?`;

/** Index jobs_id. */
export const markStarted =
  'update jobs indexed by jobs_id set started = 1 where id = ? and token = ? and status = 2';

/** Index jobs_lease: a range of tokens. */
export const renew = `
  update jobs indexed by jobs_lease set lease_until = ?
  where status = 2 and token >= ? and token < ?
  returning id, token, stop`;

/** Index jobs_lease: a range of tokens. */
export const stopRequests = `
  select id, token, stop from jobs indexed by jobs_lease
  where status = 2 and token >= ? and token < ? and stop is not null limit ?`;

/** Index jobs_lease: a range of tokens. */
export const held = `
  select id, token, stop from jobs indexed by jobs_lease where status = 2 and token >= ? and token < ?`;
