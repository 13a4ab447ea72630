import { formatDuration } from './duration.js';
import { MillraceError } from './errors.js';
import { setLongTimeout } from './long-timeout.js';

export interface DeadlineOptions {
  /** How long to wait, in ms. Infinity waits for ever. */
  readonly ms: number;
  /** What is being waited for, in words for the message and the log: `first answer of the database`. */
  readonly name: string;
  /** Gives up as soon as this is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits for `promise`, but no longer than the deadline. The promise itself is not stopped: pass it
 * a signal for that. When it loses, its later rejection is swallowed here.
 *
 * @throws MillraceError `deadline-exceeded` naming what was waited for, or `aborted`
 */
export function withDeadline<T>(promise: PromiseLike<T>, options: DeadlineOptions): Promise<T> {
  const { ms, name, signal } = options;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => {
      finish();
      reject(
        new MillraceError('aborted', `${name}: given up, its signal was aborted`, {
          details: { name },
          cause: signal?.reason,
        }),
      );
    };
    const timer = setLongTimeout(() => {
      finish();
      reject(
        new MillraceError('deadline-exceeded', `${name}: not done within ${formatDuration(ms)}`, {
          details: { name, deadlineMs: ms },
        }),
      );
    }, ms);
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    promise.then(
      (value) => {
        finish();
        resolve(value);
      },
      (error: unknown) => {
        finish();
        reject(error);
      },
    );
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
