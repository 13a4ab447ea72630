import type { JobStatus } from '../core/job-status.js';
import { parseFailures } from '../internal/failure.js';
import type { JobFilter } from './job-record.js';

/** What a filter asks of one job, beyond what the indexes have answered. */
export interface ListedFacts {
  readonly status: JobStatus;
  readonly queue: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly finishedAtMs: number | null;
  readonly workerId: string | null;
}

/** Rows that one page looks at, at most. */
export const mostLookedAt = 5_000;
/** Of rows whose failures have to be read as well; a job may keep 256 KB of them. */
export const mostErrorsRead = 500;

/** Whether the filter asks for more than status, queue and name. */
export function hasDetails(filter: JobFilter): boolean {
  const { errorText, worker, createdAfterMs, createdBeforeMs, finishedAfterMs, finishedBeforeMs } = filter;
  return [errorText, worker, createdAfterMs, createdBeforeMs, finishedAfterMs, finishedBeforeMs].some(
    (wish) => wish !== undefined,
  );
}

/** Whether a job fits, its tags and its failures left out. */
export function fits(filter: JobFilter, job: ListedFacts): boolean {
  const { status, queue, name, worker } = filter;
  if (status !== undefined && job.status !== status) return false;
  if (queue !== undefined && job.queue !== queue) return false;
  if (name !== undefined && job.name !== name) return false;
  if (worker !== undefined && job.workerId !== worker) return false;
  return (
    isWithin(job.createdAtMs, filter.createdAfterMs, filter.createdBeforeMs) &&
    isWithin(job.finishedAtMs, filter.finishedAfterMs, filter.finishedBeforeMs)
  );
}

function isWithin(atMs: number | null, fromMs: number | undefined, toMs: number | undefined): boolean {
  if (fromMs === undefined && toMs === undefined) return true;
  return atMs !== null && atMs >= (fromMs ?? -Infinity) && atMs < (toMs ?? Infinity);
}

/** Whether the message of the last of these failures (the `errors` of a job) has the text in it. */
export function lastFailureHas(errors: string | null, text: string): boolean {
  const message: unknown = parseFailures(errors).at(-1)?.error?.message;
  return typeof message === 'string' && message.toLowerCase().includes(text.toLowerCase());
}
