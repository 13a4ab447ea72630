import type { JobStatus } from '../core/job-status.js';
import { type AttemptFailure, parseFailures } from '../internal/failure.js';
import { decodeJson } from '../internal/json.js';
import type { StopRequest } from '../storage/claimed-job.js';
import type { JobRecord, JobSummary } from '../storage/job-record.js';
import { decodeOutput } from './codec.js';

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
  /** The failures kept: the first and the newest nine. */
  readonly failures: readonly AttemptFailure[];
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

export function toJob(record: JobRecord): Job {
  const { outcome, reason, stopRequest, uniqueKey, retentionMs, alone, waitsFor } = record;
  return {
    ...toListing(record),
    input: decodeJson(record.payload, `payload of job ${record.id}`),
    version: record.version,
    result: decodeOutput(record.result, `result of job ${record.id}`),
    failures: parseFailures(record.errors),
    outcome,
    reason,
    stopRequest,
    leaseUntil: dateOrNull(record.leaseUntilMs),
    uniqueKey,
    retentionMs,
    alone,
    waitsFor,
  };
}

function dateOrNull(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
