import type { JobLimit } from './job-limit.js';

/** What becomes of a dependent when a job it waits for does not complete. */
export type FailedParentPolicy = 'bury' | 'cancel' | 'run';

/**
 * How long a unique key is held.
 * - `waiting`: until the job is first claimed or final; a retry or put-back does not take it again.
 * - `active`: until the job is final (completed, buried, cancelled) or deleted.
 * - `period`: for `periodMs` from the dispatch, whatever becomes of the job, also past its purge; a deletion frees it. The key is free again when it has passed.
 */
export type UniqueScope = 'waiting' | 'active' | 'period';

/** A job as the client hands it to storage: everything resolved, validated and serialised. */
export interface NewJob {
  /** UUIDv7 made by the caller: a repeat of the same id is recognised and never makes a second job. */
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** JSON text, at most `MILLRACE_MAX_PAYLOAD` bytes of UTF-8. */
  readonly payload: string;
  /** Version of the payload's shape, at least 1: how many lifts it has behind it. */
  readonly version: number;
  /** At most 10, each 1 to 100 characters of a job name; sorted, none twice. */
  readonly tags: readonly string[];
  /** −100 … 100, higher runs first. */
  readonly priority: number;
  /** When it becomes due: so many ms after the database's now (0 = at once), or at an epoch time in ms. */
  readonly due: { readonly inMs: number } | { readonly atMs: number };
  /** Failed attempts after which it is buried, at least 1. */
  readonly maxAttempts: number;
  /** How long its row is kept once completed or cancelled; null = the system's retention. */
  readonly retentionMs: number | null;
  readonly unique: {
    /** At most 191 characters; the client hashes longer ones. Compared byte by byte, across all names and queues. */
    readonly key: string;
    readonly scope: UniqueScope;
    /** Only for `period`, else 0. */
    readonly periodMs: number;
  } | null;
  readonly idempotency: {
    /** At most 191 characters. Lives as long as the row of its job. */
    readonly key: string;
    /** SHA-256 (hex) of name and canonical input: the same key with another input is a conflict. */
    readonly inputHash: string;
  } | null;
  /** Jobs it waits for; ids may name jobs of this dispatch that stand earlier in the same call. */
  readonly after: { readonly ids: readonly string[]; readonly onFailure: FailedParentPolicy } | null;
  readonly limit: JobLimit | null;
  /** Its weight against budgets, whole, 1 … 1,000,000; 1 is ordinary. */
  readonly cost: number;
  /** Labels that a worker must have, all of them: at most 10, each 1 to 100 characters of a queue name; sorted, none twice. */
  readonly requires: readonly string[];
}

/** What became of one `NewJob`; a refused row never fails its neighbours. */
export type EnqueueOutcome =
  /** A new row was written. (With a parent that already failed it may be born buried or cancelled.) */
  | { readonly outcome: 'created'; readonly id: string }
  /** This id, or this idempotency key with the same input, was already enqueued: `id` is that job. */
  | { readonly outcome: 'replayed'; readonly id: string }
  /** Another job holds the unique key: `id` is that job. */
  | { readonly outcome: 'duplicate'; readonly id: string }
  /** The idempotency key was used with another input, by job `id`. Nothing was written. */
  | { readonly outcome: 'idempotency-conflict'; readonly id: string }
  /** `id` in `after` is not known (never existed, or purged). Nothing was written. */
  | { readonly outcome: 'parent-not-found'; readonly id: string };
