import { describe, expect, test } from 'vitest';
import {
  drawLifeLimits,
  judgeMemory,
  missesAfter,
  missesBeforeEnd,
  pageTimes,
  pingTimes,
  whyRestart,
} from './browser-lane-rules.js';

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

test('only what is measured ends anything: resident memory counts shared pages often', () => {
  const seen = samples([100, 1700], 1200);
  const measured = (rendererMb: number, chromeMb: number) =>
    judgeMemory(seen, {
      measured: { rendererBytes: rendererMb * megabyte, chromeBytes: chromeMb * megabyte },
    });
  expect(judgeMemory(seen)).toBe('end-chrome');
  expect(measured(1400, 1900)).toBe('fine');
  expect(measured(1600, 1900)).toBe('end-renderer');
  expect(measured(1600, 2600)).toBe('end-chrome');
  const growing = samples([10, 400, 1000]);
  const half = { rendererBytes: 700 * megabyte, chromeBytes: 900 * megabyte };
  expect(judgeMemory(growing, { measured: half })).toBe('fine');
  expect(judgeMemory(growing)).toBe('end-renderer');
});

test('a Chrome that stands still is found within 16 s, and a page that does within 20', () => {
  const { everyMs, deadlineMs } = pingTimes;
  // The last answer came just before it stood still.
  expect(everyMs + missesBeforeEnd * deadlineMs).toBeLessThan(16_000);
  expect(pageTimes.everyMs + pageTimes.busyMs).toBeLessThan(20_000);
  expect(pageTimes.everyMs + pageTimes.busyMs + pageTimes.deadMs).toBeLessThanOrEqual(20_000);
});

test('misses count in a row, and never while this process was late itself', () => {
  expect(missesAfter(1, { isAnswered: true, ownLagMs: 0 })).toBe(0);
  expect(missesAfter(1, { isAnswered: false, ownLagMs: 10 })).toBe(2);
  expect(missesAfter(1, { isAnswered: false, ownLagMs: 1_500 })).toBe(1);
});

test('a Chrome is replaced after its jobs, its age, its size or crashes of its pages', () => {
  const limits = drawLifeLimits(() => 0.5);
  expect(limits).toEqual({ jobs: 100, ageMs: 3_600_000 });
  expect([0, 1].map((drawn) => drawLifeLimits(() => drawn).jobs)).toEqual([80, 120]);
  const small = { jobs: 0, ageMs: 0, crashes: 0, idleBytes: null };
  const idle = (now: number, atStart: number) =>
    whyRestart({ ...small, idleBytes: { now: now * megabyte, atStart: atStart * megabyte } }, limits);
  expect(whyRestart({ ...small, jobs: 99, ageMs: 3_599_999, crashes: 1 }, limits)).toBeNull();
  expect(whyRestart({ ...small, jobs: 100 }, limits)).toEqual({ why: 'has run 100 jobs', isPlanned: true });
  expect(whyRestart({ ...small, ageMs: 3_600_000 }, limits)?.why).toBe('is 60 minutes old');
  expect(idle(600, 140)).toBeNull();
  expect(idle(700, 380)).toBeNull();
  expect(idle(601, 140)).toEqual({ why: 'has 601 MB of memory without a job', isPlanned: true });
  expect(whyRestart({ ...small, crashes: 2 }, limits)).toEqual({
    why: 'had 2 pages that crashed',
    isPlanned: false,
  });
});
