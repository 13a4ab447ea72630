import { describe, expect, test } from 'vitest';
import { drawLifeLimits, judgeMemory, missesAfter, whyRestart } from './browser-lane-rules.js';

const megabyte = 1024 ** 2;
const samples = (renderer: readonly number[], rest = 200) =>
  renderer.map((size, index) => ({
    atMs: index * 1000,
    rendererBytes: size * megabyte,
    chromeBytes: (size + rest) * megabyte,
  }));

describe('memory of a Chrome', () => {
  test.each([
    ['nothing seen', [], 0, 'fine'],
    ['small', [100, 120, 130], 200, 'fine'],
    ['one page too large', [100, 1600], 200, 'end-renderer'],
    ['all of it too large', [1000], 1600, 'end-chrome'],
    ['grows fast but is small', [10, 350, 700], 200, 'fine'],
    ['grows fast and is half way', [10, 400, 800], 200, 'end-renderer'],
    ['grew fast once only', [10, 780, 800], 200, 'fine'],
  ] as const)('%s', (_, sizes, rest, verdict) => {
    expect(judgeMemory(samples(sizes, rest))).toBe(verdict);
  });
});

test('misses count in a row, and never while this process was late itself', () => {
  expect(missesAfter(1, { isAnswered: true, ownLagMs: 0 })).toBe(0);
  expect(missesAfter(1, { isAnswered: false, ownLagMs: 10 })).toBe(2);
  expect(missesAfter(1, { isAnswered: false, ownLagMs: 1_500 })).toBe(1);
});

test('a Chrome is replaced after its jobs, its age or crashes of its pages', () => {
  const limits = drawLifeLimits(() => 0.5);
  expect(limits).toEqual({ jobs: 100, ageMs: 3_600_000 });
  expect([0, 1].map((drawn) => drawLifeLimits(() => drawn).jobs)).toEqual([80, 120]);
  expect(whyRestart({ jobs: 99, ageMs: 3_599_999, crashes: 1 }, limits)).toBeNull();
  expect(whyRestart({ jobs: 100, ageMs: 0, crashes: 0 }, limits)).toBe('has run 100 jobs');
  expect(whyRestart({ jobs: 0, ageMs: 3_600_000, crashes: 0 }, limits)).toBe('is 60 minutes old');
  expect(whyRestart({ jobs: 0, ageMs: 0, crashes: 2 }, limits)).toBe('had 2 pages that crashed');
});
