/** Ms of the machine's monotonic clock, the same for every thread of the process (unlike `performance.now()`). */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000;
