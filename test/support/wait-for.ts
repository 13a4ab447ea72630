import { setTimeout as pause } from 'node:timers/promises';

export interface WaitForOptions {
  /** What is awaited, in plain words: it becomes the error message. */
  describe: string | (() => string);
  /** @default 10000 */
  deadlineMs?: number;
  /** @default 10 */
  intervalMs?: number;
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

const EXPIRED: unique symbol = Symbol('expired');

/**
 * Polls until the condition returns something truthy, and returns that. A condition that throws counts as
 * "not yet"; its last error becomes the `cause` when the deadline passes.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { describe, deadlineMs = 10_000, intervalMs = 10 }: WaitForOptions,
): Promise<Truthy<T>> {
  const end = performance.now() + deadlineMs;
  let last: unknown;
  let cause: unknown;
  for (;;) {
    try {
      // The condition itself may hang: it gets what is left of the deadline, never more.
      const value = await expireAfter(Math.max(end - performance.now(), 1), condition);
      if (value === EXPIRED) break;
      if (value) return value as Truthy<T>;
      last = value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const leftMs = end - performance.now();
    if (leftMs <= 0) break;
    await pause(Math.min(intervalMs, leftMs));
  }
  const awaited = typeof describe === 'string' ? describe : describe();
  const seen = cause === undefined ? `last value: ${String(last)}` : `last error: ${String(cause)}`;
  throw new Error(`waited ${deadlineMs} ms in vain for: ${awaited} (${seen})`, { cause });
}

async function expireAfter<T>(ms: number, work: () => T | Promise<T>): Promise<T | typeof EXPIRED> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<typeof EXPIRED>((resolve) => {
    timer = setTimeout(() => resolve(EXPIRED), ms);
  });
  try {
    return await Promise.race([work(), expiry]);
  } finally {
    clearTimeout(timer);
  }
}
