import type { JobStatus } from '../../core/job-status.js';
import { isMillraceError } from '../../internal/errors.js';
import { decodeWholeOutput } from '../codec.js';
import type { ResultOptions } from '../job-handle.js';
import { abortedError, cancelledError, failedError, goneError, timeoutError } from '../result-errors.js';
import { checkResultOptions } from '../result-waiter.js';
import type { HttpCalls } from './http-calls.js';
import { endingOf } from './http-views.js';

/** A hub answers a wait within this; the next one begins at once. */
const waitMs = 20_000;
/** Beyond the wait, for the way there and back. */
const wayMs = 10_000;

/**
 * Waits for the end of a job, over outages of the hub.
 *
 * @throws MillraceError as `JobHandle.result` says
 */
export async function waitForResult(
  calls: HttpCalls,
  id: string,
  options: ResultOptions = {},
): Promise<unknown> {
  const timeoutMs = checkResultOptions(options);
  const { signal } = options;
  const endsAt = performance.now() + timeoutMs;
  let lastStatus: JobStatus | null = null;
  let lastError: unknown = null;
  do {
    if (signal?.aborted === true) throw abortedError(id, signal);
    const leftMs = Math.max(0, endsAt - performance.now());
    try {
      const wait = Math.round(Math.min(waitMs, leftMs));
      const { body } = await calls.send({
        method: 'GET',
        path: `/jobs/${id}/result`,
        query: { wait: `${wait}ms` },
        signal,
        timeoutMs: Math.min(leftMs, waitMs) + wayMs,
      });
      const ending = endingOf(body);
      lastStatus = ending.status;
      lastError = null;
      if (ending.status === 'completed') return decodeWholeOutput(ending.result, `result of job ${id}`);
      if (ending.status === 'buried') throw failedError(ending);
      if (ending.status === 'cancelled') throw cancelledError(ending);
    } catch (error) {
      lastError = passing(error, id, signal);
    }
  } while (performance.now() < endsAt);
  throw timeoutError({ id, timeoutMs, lastStatus, lastError });
}

/** The error where waiting may help; else it is thrown as a waiter is to have it. */
function passing(error: unknown, id: string, signal: AbortSignal | undefined): unknown {
  if (!isMillraceError(error)) throw error;
  if (error.code === 'aborted') throw abortedError(id, signal);
  if (error.code === 'job-not-found') throw goneError(id);
  if (error.retryable) return error;
  throw error;
}
