import { aborted } from '../internal/aborted.js';
import { setLongTimeout } from '../internal/long-timeout.js';
import { monotonicMs } from './monotonic.js';
import type { Worker } from './worker.js';

export interface UntilIdleOptions {
  /** Monotonic ms; null: no end. */
  readonly endsAtMs: number | null;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits until nothing is left that a started worker could run now, or its time is over, or the signal fires; answers which.
 * What is denied or held back by a limit counts as nothing.
 */
export async function untilIdle(
  worker: Worker,
  { endsAtMs, signal }: UntilIdleOptions,
): Promise<'idle' | 'time' | 'signal'> {
  using given = aborted(signal ?? new AbortController().signal);
  let timer: { cancel(): void } | null = null;
  const time = new Promise<'time'>((resolve) => {
    if (endsAtMs === null) return;
    timer = setLongTimeout(() => resolve('time'), Math.max(endsAtMs - monotonicMs(), 0));
  });
  try {
    return await Promise.race([
      worker.idle().then(() => 'idle' as const),
      time,
      given.fired.then(() => 'signal' as const),
    ]);
  } finally {
    (timer as { cancel(): void } | null)?.cancel();
  }
}

/** Runs a worker that was not started yet until it is idle, and stops it: in its own time, or at once when that is over. */
export async function runUntilIdle(
  worker: Worker,
  options: UntilIdleOptions,
): Promise<'idle' | 'time' | 'signal'> {
  let end: 'idle' | 'time' | 'signal' = 'signal';
  try {
    await worker.start();
    end = await untilIdle(worker, options);
  } finally {
    await worker.stop(end === 'time' ? { deadlineMs: 0 } : {});
  }
  return end;
}
