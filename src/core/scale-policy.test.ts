import { describe, expect, test } from 'vitest';
import { decideScale, type ScaleFacts } from './scale-policy.js';

const mb = 1024 ** 2;
const calm: ScaleFacts = {
  claimable: 0,
  running: 0,
  workers: 2,
  lanesPerWorker: 10,
  min: 1,
  max: 8,
  idleForMs: 0,
  idleGraceMs: 15_000,
  workerBytes: 100 * mb,
  availableBytes: 4_000 * mb,
  headroomBytes: 32 * mb,
  wait: null,
};

describe('decideScale', () => {
  test.each<[what: string, facts: Partial<ScaleFacts>, workers: number, reason: string]>([
    ['a backlog of 35 for lanes of 10', { claimable: 35 }, 4, 'backlog'],
    ['what runs counts too', { claimable: 35, running: 20 }, 6, 'backlog'],
    ['one more than fits', { claimable: 1, running: 20 }, 3, 'backlog'],
    ['never above the maximum', { claimable: 100_000 }, 8, 'backlog'],
    ['never below the minimum', { workers: 1, min: 3 }, 3, 'minimum'],
    ['as many as there are', { claimable: 5, running: 15 }, 2, 'steady'],
    ['no backlog, not for long', { workers: 5, idleForMs: 14_999 }, 5, 'idle-grace'],
    ['no backlog for the grace', { workers: 5, idleForMs: 15_000 }, 1, 'no-backlog'],
    ['what runs keeps its workers', { workers: 5, running: 25, idleForMs: 60_000 }, 3, 'no-backlog'],
    [
      'a backlog, though smaller, shrinks nothing',
      { workers: 5, claimable: 10, idleForMs: 0 },
      5,
      'idle-grace',
    ],
    ['a maximum that was lowered holds at once', { workers: 5, max: 3, claimable: 100 }, 3, 'steady'],
    ['memory for one more', { claimable: 100, availableBytes: 150 * mb }, 3, 'low-memory'],
    ['memory for none', { claimable: 100, availableBytes: 50 * mb }, 2, 'low-memory'],
    ['the minimum whatever it costs', { workers: 0, min: 2, availableBytes: 50 * mb }, 2, 'minimum'],
    ['memory that can’t be read', { claimable: 100, availableBytes: null }, 8, 'backlog'],
    [
      'workers that are not known yet',
      { claimable: 100, workerBytes: null, availableBytes: 1 },
      8,
      'backlog',
    ],
    [
      'a database that does not answer',
      { workers: 3, claimable: null, idleForMs: 60_000 },
      3,
      'backlog-unknown',
    ],
    [
      '30 s to clear 600 jobs of 1 s',
      { claimable: 600, wait: { targetMs: 30_000, averageMs: 1_000 } },
      2,
      'steady',
    ],
    [
      '30 s to clear 900 jobs of 1 s',
      { claimable: 900, wait: { targetMs: 30_000, averageMs: 1_000 } },
      3,
      'target-wait',
    ],
    [
      'quick jobs need few',
      { claimable: 10_000, wait: { targetMs: 30_000, averageMs: 10 } },
      2,
      'idle-grace',
    ],
    [
      'what runs keeps its workers also by time',
      { claimable: 1, running: 40, wait: { targetMs: 30_000, averageMs: 10 } },
      4,
      'target-wait',
    ],
  ])('%s', (_, facts, workers, reason) => {
    expect(decideScale({ ...calm, ...facts })).toMatchObject({ workers, reason });
  });

  test('what was wanted is told where it was not to be had', () => {
    expect(decideScale({ ...calm, claimable: 70, availableBytes: 50 * mb })).toEqual({
      workers: 2,
      reason: 'low-memory',
      wanted: 7,
    });
  });
});
