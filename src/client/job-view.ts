import type { JobStatus } from '../core/job-status.js';
import { decodeJson } from '../internal/json.js';
import type { StopRequest } from '../storage/claimed-job.js';
import type { JobLimit } from '../storage/job-limit.js';
import type { LogLine } from '../storage/job-log.js';
import type { JobRecord, JobSummary } from '../storage/job-record.js';
import { decodeOutput } from './codec.js';
import { type JobFailure, jobFailures } from './job-failure.js';
import type { JobProgress } from './progress-watcher.js';

/** A job as lists show it. Times are of the database's clock. */
export interface JobListing {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly status: JobStatus;
  readonly priority: number;
  /** Failed attempts so far. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** Times the process that ran it died. */
  readonly deaths: number;
  readonly createdAt: Date;
  readonly dueAt: Date;
  /** When it last went to a worker; null when never. */
  readonly claimedAt: Date | null;
  readonly finishedAt: Date | null;
  /** The worker that holds it, or held it last. */
  readonly workerId: string | null;
  readonly tags: readonly string[];
}

/** A line that a handler wrote, or its progress as it was stored (`{"done":3,"total":10,"note":"…"}`). */
export interface JobLogLine {
  /** Position: pass the last one back as `after`. */
  readonly cursor: string;
  readonly at: Date;
  readonly kind: 'log' | 'progress';
  readonly level: LogLine['level'];
  readonly text: string;
}

/** A job that did not complete. */
export interface FailedParent {
  readonly id: string;
  readonly status: 'buried' | 'cancelled';
}

/** What of the view of a job does not stand in its row. */
export interface JobSurroundings {
  readonly progress: JobProgress | null;
  readonly failedParents: readonly FailedParent[];
}

/** A job with all that is known of it. */
export interface Job<Result = unknown> extends JobListing {
  readonly input: unknown;
  /** Of the shape of the input: one more than the lifts its definition had when it was dispatched. */
  readonly version: number;
  /**
   * What the handler returned; undefined unless completed with a value. Of one that was too large to be stored,
   * `{ $truncated: true, bytes, head }`.
   */
  readonly result: Result | undefined;
  /** How far its handler said it is; null unless it runs and has said so. */
  readonly progress: JobProgress | null;
  /** The failures kept: the first and the newest nine. */
  readonly failures: readonly JobFailure[];
  readonly outcome: 'skipped' | null;
  /** Why it is buried, cancelled or was put back. */
  readonly reason: string | null;
  /** What an operator asked for while it runs. */
  readonly stopRequest: StopRequest | null;
  readonly leaseUntil: Date | null;
  readonly uniqueKey: string | null;
  /** How long it is kept once completed or cancelled, ms; null when the system's retention decides. */
  readonly retentionMs: number | null;
  /** It runs with nothing beside it, since the processes that ran it died. */
  readonly alone: boolean;
  /** Ids of the jobs it waits for. */
  readonly waitsFor: readonly string[];
  /**
   * Those of the jobs it waited for that did not complete, where it ended since one of them did not; without those that are
   * no longer kept.
   */
  readonly failedParents: readonly FailedParent[];
  /** How many of its group (and key) may run at once; null when it has no limit. */
  readonly limit: JobLimit | null;
  /** Its weight against budgets. */
  readonly cost: number;
  /** Labels that a worker must have to run it. */
  readonly requires: readonly string[];
}

export function toListing(summary: JobSummary): JobListing {
  const { id, name, queue, status, priority, attempts, maxAttempts, deaths, workerId } = summary;
  return {
    id,
    name,
    queue,
    status,
    priority,
    attempts,
    maxAttempts,
    deaths,
    createdAt: new Date(summary.createdAtMs),
    dueAt: new Date(summary.dueAtMs),
    claimedAt: dateOrNull(summary.claimedAtMs),
    finishedAt: dateOrNull(summary.finishedAtMs),
    workerId,
    tags: summary.tags,
  };
}

export function toJob(record: JobRecord, { progress, failedParents }: JobSurroundings): Job {
  const { outcome, reason, stopRequest, uniqueKey, retentionMs, alone, waitsFor, limit, cost, requires } =
    record;
  return {
    ...toListing(record),
    input: decodeJson(record.payload, `payload of job ${record.id}`),
    version: record.version,
    result: decodeOutput(record.result, `result of job ${record.id}`),
    progress,
    failures: jobFailures(record.errors),
    outcome,
    reason,
    stopRequest,
    leaseUntil: dateOrNull(record.leaseUntilMs),
    uniqueKey,
    retentionMs,
    alone,
    waitsFor,
    failedParents,
    limit,
    cost,
    requires,
  };
}

export function toLogLine({ cursor, atMs, kind, level, text }: LogLine): JobLogLine {
  return { cursor, at: new Date(atMs), kind, level, text };
}

function dateOrNull(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
