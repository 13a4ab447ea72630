import { describe, expect, test } from 'vitest';
import { type PoolSizeSettings, poolSize, widestPool } from './pool-size.js';

const nothing: PoolSizeSettings = {
  workers: 'none',
  minWorkers: 'none',
  maxWorkers: 'none',
  targetWaitMs: 0,
};

describe('poolSize', () => {
  test.each<[Partial<PoolSizeSettings>, ReturnType<typeof poolSize>]>([
    [{}, { kind: 'fixed', workers: 1 }],
    [{ workers: 4 }, { kind: 'fixed', workers: 4 }],
    [
      { minWorkers: 2, maxWorkers: 8 },
      { kind: 'adaptive', min: 2, max: 8, targetWaitMs: null },
    ],
    [{ maxWorkers: 8 }, { kind: 'adaptive', min: 1, max: 8, targetWaitMs: null }],
    [
      { maxWorkers: 8, targetWaitMs: 30_000 },
      { kind: 'adaptive', min: 1, max: 8, targetWaitMs: 30_000 },
    ],
  ])('%j', (given, size) => {
    expect(poolSize({ ...nothing, ...given })).toEqual(size);
  });

  test.each<[Partial<PoolSizeSettings>, RegExp]>([
    [{ minWorkers: 2 }, /needs a maximum/],
    [{ minWorkers: 9, maxWorkers: 8 }, /minimum of workers \(9\) is above the maximum \(8\)/],
    [{ workers: 2, maxWorkers: 8 }, /not both/],
    [{ workers: 2, targetWaitMs: 1 }, /adaptive/],
  ])('%j is refused', (given, problem) => {
    expect(poolSize({ ...nothing, ...given })).toEqual({
      kind: 'wrong',
      problem: expect.stringMatching(problem),
    });
  });

  test('the widest', () => {
    expect(widestPool({ kind: 'fixed', workers: 3 })).toBe(3);
    expect(widestPool({ kind: 'adaptive', min: 1, max: 8, targetWaitMs: null })).toBe(8);
  });
});
