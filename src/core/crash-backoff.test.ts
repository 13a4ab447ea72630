import { describe, expect, test } from 'vitest';
import { restartDelayMs } from './crash-backoff.js';

const half = (): number => 0.5;
const every = (ms: number, count: number): number[] => Array.from({ length: count }, (_, n) => n * ms);

describe('restartDelayMs', () => {
  test('nothing that crashed, no wait', () => {
    expect(restartDelayMs([], half)).toBe(0);
  });

  test.each([
    [1, 750],
    [2, 1_250],
    [3, 2_250],
    [5, 8_250],
    [7, 15_250],
    [9, 15_250],
  ])('crash %i in a row, slow ones: %i ms with half a jitter', (count, ms) => {
    expect(restartDelayMs(every(20_000, count), half)).toBe(ms);
  });

  test('from half a second to thirty', () => {
    expect(restartDelayMs(every(20_000, 9), () => 0)).toBe(500);
    expect(restartDelayMs(every(20_000, 9), () => 1)).toBe(30_000);
  });

  test('ten within a minute, and from then on: once a minute', () => {
    expect(restartDelayMs(every(1_000, 9), half)).toBeLessThan(30_000);
    expect(restartDelayMs(every(1_000, 10), half)).toBe(60_000);
    expect(restartDelayMs([...every(1_000, 10), 70_000, 130_000], half)).toBe(60_000);
  });
});
