import { isFinal, type JobStatus } from '../../core/job-status.js';
import { isMillraceError } from '../../internal/errors.js';
import type { ResultOptions } from '../job-handle.js';
import type { JobProgress } from '../progress-watcher.js';
import { abortedError, goneError, timeoutError } from '../result-errors.js';
import { checkResultOptions } from '../result-waiter.js';
import type { HttpCalls } from './http-calls.js';
import { eventsOf, type ServerEvent } from './http-events.js';
import { progressView } from './http-views.js';

const longestTimerMs = 2 ** 31 - 1;
const pauseMs = 200;

/**
 * The progress of a job by its stream of events, taken up again behind the last one when it is cut.
 *
 * @throws MillraceError as `JobHandle.progress` says
 */
export async function* watchHttpProgress(
  calls: HttpCalls,
  id: string,
  options: ResultOptions = {},
): AsyncGenerator<JobProgress, void, undefined> {
  const timeoutMs = checkResultOptions(options);
  const { signal } = options;
  const timeout = AbortSignal.timeout(Math.min(Math.ceil(timeoutMs), longestTimerMs));
  const ending = new AbortController();
  const both = AbortSignal.any([timeout, ending.signal, ...(signal === undefined ? [] : [signal])]);
  let lastId = '';
  let lastError: unknown = null;
  try {
    for (;;) {
      try {
        for await (const event of eventsOf(calls, { id, lastId, signal: both })) {
          lastId = event.id;
          if (event.event === 'progress') yield progressView(JSON.parse(event.data));
          if (event.event === 'gone') throw goneError(id);
          if (event.event === 'end' || hasEnded(event)) return;
        }
      } catch (error) {
        if (signal?.aborted === true) throw abortedError(id, signal);
        if (timeout.aborted) throw timeoutError({ id, timeoutMs, lastStatus: null, lastError });
        if (!isMillraceError(error)) throw error;
        if (error.code === 'job-not-found') throw goneError(id);
        if (!error.retryable) throw error;
        lastError = error;
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } finally {
    ending.abort();
  }
}

function hasEnded({ event, data }: ServerEvent): boolean {
  return event === 'status' && isFinal((JSON.parse(data) as { status: JobStatus }).status);
}
