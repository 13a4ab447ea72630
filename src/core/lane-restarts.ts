/** Waits between restarts grow from the first to the second, in ms. */
const shortestMs = 500;
const longestMs = 30_000;
/** So often in a row it may fail before it takes no more work; it is tried again all the same. */
export const failuresBeforeQuarantine = 3;

/** Full jitter from 0.5 s up to 0.5 s × 2^n, 30 s at most, after the n-th failure in a row. */
export function laneRestartDelayMs(failures: number, random: () => number): number {
  if (failures <= 0) return 0;
  const most = Math.min(longestMs, shortestMs * 2 ** Math.min(failures, 10));
  return Math.round(shortestMs + random() * (most - shortestMs));
}
