import { describe, expect, it } from 'vitest';
import { type DiskState, judgeDisk, whyClean } from './disk-gate.js';

const GB = 1024 ** 3;
const MB = 1024 ** 2;

describe('the disk of browser lanes', () => {
  it.each<[string, DiskState, number, number, DiskState]>([
    ['has room', 'open', 0.5, 1, 'open'],
    ['begins to fill', 'open', 0.85, 1, 'cleaning'],
    ['is nearly full, and small', 'cleaning', 0.9, 1.9, 'shut'],
    ['is nearly full, and large', 'cleaning', 0.97, 30, 'cleaning'],
    ['is full at once', 'open', 1, 0, 'shut'],
    ['is a little emptier than when the gate shut', 'shut', 0.89, 1.9, 'shut'],
    ['is emptier, between the two marks', 'shut', 0.871, 2.2, 'shut'],
    ['is empty enough, though small', 'shut', 0.86, 1, 'cleaning'],
    ['has enough free, though nearly full', 'shut', 0.95, 2.25, 'cleaning'],
    ['was emptied', 'shut', 0.2, 1, 'open'],
    ['between the two marks was never shut', 'cleaning', 0.89, 1.9, 'cleaning'],
  ])('that %s', (_, before, usedShare, freeGb, after) => {
    expect(judgeDisk(before, { usedShare, freeBytes: freeGb * GB })).toBe(after);
  });

  it('that can’t be asked says nothing', () => {
    for (const state of ['open', 'cleaning', 'shut'] as const) expect(judgeDisk(state, null)).toBe(state);
  });

  it('is cleaned before the gate shuts: no share of it shuts what was not cleaned', () => {
    for (let percent = 0; percent <= 100; percent += 1) {
      const state = judgeDisk('open', { usedShare: percent / 100, freeBytes: 0 });
      if (state === 'shut')
        expect(judgeDisk('open', { usedShare: (percent - 4) / 100, freeBytes: 0 })).not.toBe('open');
    }
  });

  it.each<[DiskState, number, string | null]>([
    ['open', 1024, null],
    ['open', 1025, 'has a folder of 1025 MB'],
    ['cleaning', 64, null],
    ['cleaning', 65, 'has a folder of 65 MB on a disk that is nearly full'],
    ['shut', 65, 'has a folder of 65 MB on a disk that is nearly full'],
  ])('when %s, a folder of %s MB is a reason: %s', (state, megabytes, why) => {
    expect(whyClean(state, megabytes * MB)).toBe(why);
  });
});
