import type { JobStatus } from '../core/job-status.js';
import { formatDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import type { FailureRecord } from '../internal/failure.js';
import type { JobEnding } from '../storage/job-record.js';
import { jobFailures } from './job-failure.js';

/** The error of a handler as a waiter in another process can have it: its words, not its class. */
function revive(record: FailureRecord): Error {
  const error = new Error(
    record.message,
    record.cause === undefined ? undefined : { cause: revive(record.cause) },
  );
  error.name = record.name;
  if (record.stack !== undefined) error.stack = record.stack;
  if (record.code !== undefined) Object.assign(error, { code: record.code });
  return error;
}

export function failedError({ id, errors, reason }: JobEnding): MillraceError {
  const failures = jobFailures(errors);
  const last = failures.at(-1);
  const why = last === undefined ? 'no failure was kept' : `${last.error.name}: ${last.error.message}`;
  return new MillraceError('job-failed', `job ${id} was buried (${reason ?? 'no reason given'}): ${why}`, {
    details: { id, reason, failures },
    cause: last === undefined ? undefined : revive(last.error),
  });
}

export function cancelledError({ id, reason }: JobEnding): MillraceError {
  return new MillraceError(
    'job-cancelled',
    `job ${id} was cancelled${reason === null ? '' : ` (${reason})`}`,
    {
      details: { id, reason },
    },
  );
}

export function goneError(id: string): MillraceError {
  return new MillraceError(
    'job-not-found',
    `job ${id} is not there: it was deleted, or its retention is over`,
    { details: { id } },
  );
}

export function abortedError(id: string, signal: AbortSignal | undefined): MillraceError {
  return new MillraceError(
    'aborted',
    `waiting for the result of job ${id} was given up: its signal was aborted`,
    {
      details: { id },
      cause: signal?.reason,
    },
  );
}

export function abortedBeforeDispatch(signal: AbortSignal): MillraceError {
  return new MillraceError('aborted', 'nothing was dispatched: the signal had been aborted before', {
    cause: signal.reason,
  });
}

export function timeoutError(about: {
  readonly id: string;
  readonly timeoutMs: number;
  readonly lastStatus: JobStatus | null;
  readonly lastError: unknown;
}): MillraceError {
  const { id, timeoutMs, lastStatus, lastError } = about;
  const seen = lastStatus === null ? 'its status could not be read' : `it is ${lastStatus}`;
  const trouble = lastError instanceof Error ? ` (the last read failed: ${lastError.message})` : '';
  return new MillraceError(
    'result-timeout',
    `job ${id} had not ended within ${formatDuration(timeoutMs)}: ${seen}${trouble}. The job goes on; wait longer with { timeout }`,
    { details: { id, status: lastStatus, timeoutMs }, cause: lastError ?? undefined },
  );
}
