import { expect, test } from 'vitest';
import { waitFor } from '../../../test/support/wait-for.js';
import { LoopPulse } from './loop-pulse.js';

test('a pulse moves the counter while the loop turns, and remembers for a while how late it was', async () => {
  using pulse = new LoopPulse(500);
  const counter = new Int32Array(pulse.memory);
  pulse.start();
  await waitFor(() => Atomics.load(counter, 0) >= 2, { describe: 'two pulses' });
  const before = Atomics.load(counter, 0);
  const end = performance.now() + 1_000;
  while (performance.now() < end);
  expect(Atomics.load(counter, 0)).toBe(before);
  expect(pulse.peakLagMs).toBeGreaterThanOrEqual(800);
  await waitFor(() => Atomics.load(counter, 0) > before, { describe: 'the next pulse' });
  expect(pulse.peakLagMs).toBeGreaterThanOrEqual(800);
  await waitFor(() => pulse.peakLagMs < 800, { describe: 'the lag to be forgotten' });
});
