/*
 * When a worker process that ended is started again. A crash waits a random part of 0.5 s × 2^n, at most 30 s; one that
 * crashes ten times within a minute is tried once a minute from then on, for ever: a cause that goes away by itself (a
 * database, a full disk) must not need a person.
 */
const shortestMs = 500;
const longestMs = 30_000;
const loopWindowMs = 60_000;
const crashesOfALoop = 10;
/** A worker that had lived so long had started well: what ends it then begins a new count. */
export const wellAfterMs = 60_000;

/** Wait before the next start, ms. `crashedAtMs`: when it crashed, of a row without a good start between, the last one now. */
export function restartDelayMs(crashedAtMs: readonly number[], random: () => number): number {
  const last = crashedAtMs.at(-1);
  if (last === undefined) return 0;
  const recent = crashedAtMs.filter((at) => last - at < loopWindowMs).length;
  const isLoop = recent >= crashesOfALoop || crashedAtMs.length > crashesOfALoop;
  if (isLoop) return loopWindowMs;
  const mostMs = Math.min(longestMs, shortestMs * 2 ** crashedAtMs.length);
  return Math.round(shortestMs + random() * (mostMs - shortestMs));
}
