import { describe, expect, it } from 'vitest';
import { laneRestartDelayMs } from './lane-restarts.js';

describe('the wait before a lane is started again', () => {
  it('is none without a failure', () => {
    expect(laneRestartDelayMs(0, () => 1)).toBe(0);
  });

  it.each([
    [1, 500, 1_000],
    [2, 500, 2_000],
    [5, 500, 16_000],
    [6, 500, 30_000],
    [10_000, 500, 30_000],
  ])('after %s failures in a row is from %s to %s ms', (failures, least, most) => {
    expect(laneRestartDelayMs(failures, () => 0)).toBe(least);
    expect(laneRestartDelayMs(failures, () => 1)).toBe(most);
  });
});
