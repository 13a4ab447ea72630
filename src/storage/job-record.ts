import type { JobStatus } from '../core/job-status.js';
import type { StopRequest } from './claimed-job.js';
import type { JobLimit } from './job-limit.js';
import type { BuryReason } from './settlement.js';

/** A job as lists show it: no payload, no result, no errors. Times are epoch ms of the database's clock. */
export interface JobSummary {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly status: JobStatus;
  readonly priority: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly deaths: number;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  /** Start of the newest lease; null when never claimed. */
  readonly claimedAtMs: number | null;
  readonly finishedAtMs: number | null;
  /** Holder of the lease, or of the last one. */
  readonly workerId: string | null;
  /** Sorted. */
  readonly tags: readonly string[];
}

export interface JobRecord extends JobSummary {
  readonly payload: string;
  /** Of the payload's shape. */
  readonly version: number;
  readonly result: string | null;
  /** JSON array of `AttemptFailure`, or null. */
  readonly errors: string | null;
  readonly outcome: 'skipped' | null;
  /** Why it is buried, cancelled or was put back; forgotten when it is claimed or retried. */
  readonly reason: BuryReason | string | null;
  /** Null unless processing. */
  readonly stopRequest: StopRequest | null;
  /** Null unless processing. */
  readonly leaseUntilMs: number | null;
  /** False unless processing. */
  readonly started: boolean;
  readonly lapses: number;
  /** Runs only by a claim with `alone`. */
  readonly alone: boolean;
  /** As dispatched, also when it is no longer held. */
  readonly uniqueKey: string | null;
  readonly retentionMs: number | null;
  /** Jobs it still waits for. Empty unless blocked. */
  readonly waitsFor: readonly string[];
  /** Those of the jobs it came after that are still kept. Empty unless it ended as `parent-failed`. */
  readonly waitedFor: readonly string[];
  readonly limit: JobLimit | null;
  readonly cost: number;
  readonly requires: readonly string[];
}

/** What holds for every job of a list. Status, queue, name and tag are looked up; the rest is looked at row by row. */
export interface JobFilter {
  readonly status?: JobStatus;
  readonly queue?: string;
  readonly name?: string;
  readonly tag?: string;
  /** Stands in the message of its last failure, in capitals or not. */
  readonly errorText?: string;
  /** Holds its lease, or held the last one. */
  readonly worker?: string;
  /** At this time or later, epoch ms. */
  readonly createdAfterMs?: number;
  /** Before this time. */
  readonly createdBeforeMs?: number;
  /** Ended at this time or later; jobs that have not ended don't fit. */
  readonly finishedAfterMs?: number;
  readonly finishedBeforeMs?: number;
}

export interface JobPageRequest {
  /** `next` of the page before. Opaque, made by the same engine. */
  readonly cursor?: string;
  /** 1 … 1000. */
  readonly limit: number;
}

/**
 * Order: processing, pending, blocked, buried, cancelled, completed; pending ones in the order of their claim index,
 * all others newest id first. With a tag: newest id first, whatever the status. A page may be shorter than its limit,
 * even empty, and still have a `next`: it reads a bounded number of rows. Cursors are places, not counts: what is
 * changed between two pages moves no other job past the cursor.
 */
export interface JobPage {
  readonly jobs: readonly JobSummary[];
  readonly next: string | null;
}

/** What someone who waits for a job needs. */
export interface JobEnding {
  readonly id: string;
  readonly status: JobStatus;
  readonly result: string | null;
  readonly errors: string | null;
  readonly reason: string | null;
}

export interface QueueStats {
  readonly queue: string;
  readonly paused: boolean;
  /** Pending in all. */
  readonly pending: number;
  /** Of them due now and allowed to run by an ordinary claim (0 while paused): exactly what a worker that knows every name can take, as far as limits, budgets and labels let it. */
  readonly claimable: number;
  readonly blocked: number;
  readonly processing: number;
  /** Since the database was made, kept as counts; a purge does not lower them. */
  readonly completed: number;
  readonly buried: number;
  readonly cancelled: number;
  /** How long the oldest claimable job has been due; null when none is. */
  readonly oldestDueForMs: number | null;
}
