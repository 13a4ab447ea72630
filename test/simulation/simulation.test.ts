import { describe, expect, test } from 'vitest';
import { plants } from './planted.js';
import { mustOccur, simulate, statesMet } from './simulate.js';

const seeds = Number(process.env['MILLRACE_TEST_SEEDS'] ?? 50);
/** A fault that is planted must be found within so many worlds. */
const mostSeeds = 500;

describe('[memory] simulated worlds', () => {
  test(`${seeds} of them lose nothing, overlap nothing and come to rest`, async () => {
    const { failed, counts } = await simulate({ from: 1, seeds });
    expect(failed.map(({ seed, violations }) => ({ seed, violations: violations.slice(0, 3) }))).toEqual([]);
    expect(mustOccur.filter((what) => (counts.get(what) ?? 0) === 0)).toEqual([]);
    expect(statesMet(counts)).toBe(true);
  }, 900_000);

  test('a seed is replayed exactly', async () => {
    const runs: string[][] = [];
    for (const _ of [1, 2]) {
      const lines: string[] = [];
      await simulate({ from: 7_001, seeds: 1, trace: (line) => lines.push(line) });
      runs.push(lines);
    }
    expect(runs[0]?.length).toBeGreaterThan(500);
    expect(runs[1]).toEqual(runs[0]);
  }, 120_000);

  test.each(Object.entries(plants))(
    '%s: it is found',
    async (_, { plant, finds }) => {
      let found: string | undefined;
      let seed = 0;
      while (found === undefined && seed < mostSeeds) {
        seed += 1;
        const { failed } = await simulate({ from: seed, seeds: 1, plant });
        found = failed.flatMap(({ violations }) => violations).find((violation) => finds.test(violation));
      }
      expect(found).toBeDefined();
    },
    900_000,
  );
});
