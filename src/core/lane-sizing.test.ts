import { describe, expect, it } from 'vitest';
import { type LaneSizing, lanesByCpu, sizeLanes } from './lane-sizing.js';

const megabyte = 1024 ** 2;
const base: LaneSizing = {
  cpuBudget: 8,
  laneCores: 4,
  maxLanes: 2,
  processLanes: 'auto',
  hasProcessJobs: true,
  browserLanes: 0,
  browserMemory: null,
  hasInlineJobs: true,
  concurrency: 10,
  maxConcurrent: null,
};

describe('the number of lanes', () => {
  it.each([
    [2, 1],
    [4, 1],
    [8, 2],
    [32, 2],
    [0.5, 1],
    [7.9, 1],
  ])('of a cpu budget of %s at the defaults is %s', (cpuBudget, lanes) => {
    expect(lanesByCpu({ cpuBudget, laneCores: 4, maxLanes: 2 })).toBe(lanes);
  });

  it.each<[Partial<LaneSizing>, string]>([
    [{}, 'lanes: 2 (cpu budget 8 ÷ 4 cores per lane, max 2); inline 10'],
    [{ cpuBudget: 2.5 }, 'lanes: 1 (cpu budget 2.5 ÷ 4 cores per lane, max 2); inline 10'],
    [
      { cpuBudget: 32, maxLanes: 6, laneCores: 8 },
      'lanes: 4 (cpu budget 32 ÷ 8 cores per lane, max 6); inline 10',
    ],
    [{ hasProcessJobs: false }, 'lanes: inline 10'],
    [{ processLanes: 0 }, 'lanes: inline 10'],
    [{ processLanes: 5 }, 'lanes: 5 (as asked for); inline 10'],
    [{ processLanes: 5, hasProcessJobs: false }, 'lanes: inline 10'],
    [{ maxConcurrent: 3, hasProcessJobs: false }, 'lanes: 3 (MAX_CONCURRENT)'],
    [{ maxConcurrent: 3 }, 'lanes: 3 (MAX_CONCURRENT); process 1, inline 2'],
    [{ maxConcurrent: 3, processLanes: 2 }, 'lanes: 3 (MAX_CONCURRENT); process 2, inline 1'],
    [
      { maxConcurrent: 3, processLanes: 9, hasInlineJobs: false },
      'lanes: 3 (MAX_CONCURRENT); process 3, inline 0',
    ],
    [{ maxConcurrent: 1 }, 'lanes: 1 (MAX_CONCURRENT); process 1, inline 1'],
    [
      { browserLanes: 'auto', hasProcessJobs: false },
      'lanes: browser 2 (cpu budget 8 ÷ 4 cores per lane, max 2); inline 10',
    ],
    [
      {
        browserLanes: 'auto',
        hasProcessJobs: false,
        browserMemory: { limitBytes: 2048 * megabyte, perLaneBytes: 700 * megabyte },
      },
      'lanes: browser 1 (cpu budget 8 ÷ 4 cores per lane, max 2; memory 2048 MB at 700 MB per lane lowers it from 2); inline 10',
    ],
    [{ browserLanes: 3, processLanes: 2 }, 'lanes: 2 (as asked for); browser 3 (as asked for); inline 10'],
    [
      { browserLanes: 2, processLanes: 2, maxConcurrent: 6 },
      'lanes: 6 (MAX_CONCURRENT); process 2, browser 2, inline 2',
    ],
    [
      { browserLanes: 4, hasProcessJobs: false, maxConcurrent: 2 },
      'lanes: 2 (MAX_CONCURRENT); browser 2, inline 1',
    ],
  ])('is told with its reason: %o', (given, text) => {
    expect(sizeLanes({ ...base, ...given }).text).toBe(text);
  });

  it.each<[Partial<LaneSizing>, { process: number; inline: number; cap: number | null }]>([
    [{}, { process: 2, inline: 10, cap: null }],
    [{ maxConcurrent: 20 }, { process: 1, inline: 19, cap: 20 }],
    [
      { maxConcurrent: 4, processLanes: 3 },
      { process: 3, inline: 1, cap: 4 },
    ],
    [
      { maxConcurrent: 2, processLanes: 2, hasInlineJobs: false },
      { process: 2, inline: 0, cap: 2 },
    ],
    [
      { maxConcurrent: 2, processLanes: 2 },
      { process: 2, inline: 1, cap: 2 },
    ],
  ])('by kind, lanes asked for first: %o', (given, sizes) => {
    expect(sizeLanes({ ...base, ...given })).toMatchObject(sizes);
  });
});
