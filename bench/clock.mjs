/** Microseconds of a clock that all processes of a machine share. */
export const nowUs = () => Number(process.hrtime.bigint() / 1_000n);

export const perSecond = (count, us) => (count / us) * 1e6;

/** Jobs per second of a loop that ends when `work` resolves. */
export async function rateOf(count, work) {
  const startedUs = nowUs();
  await work();
  return perSecond(count, nowUs() - startedUs);
}
