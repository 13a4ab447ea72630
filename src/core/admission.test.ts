import { expect, it } from 'vitest';
import { type AdmissionFacts, decideAdmission, ownMemoryBound } from './admission.js';
import { decideRecycle } from './recycle.js';

const MB = 1024 ** 2;
const rules = {
  memoryHeadroomBytes: 16 * MB,
  systemMemoryHeadroomBytes: 32 * MB,
  timeHeadroomMs: 5_000,
};
const calm: AdmissionFacts = {
  profile: null,
  isInline: true,
  timeLeftMs: null,
  availableBytes: 4_000 * MB,
  promisedBytes: 0,
  ownBytes: 100 * MB,
  ownMaxBytes: 1_000 * MB,
  isIdle: false,
  hasNeighbours: false,
};
const decide = (facts: Partial<AdmissionFacts>) => decideAdmission({ ...calm, ...facts }, rules);
const slow = { averageMs: 30_000, peakRssBytes: null };
const hungry = { averageMs: 100, peakRssBytes: 300 * MB };

it('admits what nothing speaks against', () => {
  expect(decide({})).toEqual({ admit: true, despite: null });
  expect(decide({ profile: hungry, isInline: false })).toMatchObject({ admit: true });
});

it('denies what the time left would not let end, in numbers', () => {
  expect(decide({ profile: slow, timeLeftMs: 34_999 })).toMatchObject({
    admit: false,
    reason: 'time',
    numbers: { averageMs: 30_000, headroomMs: 5_000, timeLeftMs: 34_999 },
    retryInMs: 0,
  });
  expect(decide({ profile: slow, timeLeftMs: 35_000 })).toMatchObject({ admit: true });
});

it('starts nothing in the last seconds, known or not', () => {
  expect(decide({ timeLeftMs: 4_999 })).toMatchObject({ admit: false, reason: 'time' });
  expect(decide({ timeLeftMs: 5_000 })).toMatchObject({ admit: true });
});

it('denies an inline job when the worker is near what it may use', () => {
  expect(decide({ ownBytes: 985 * MB })).toMatchObject({
    admit: false,
    reason: 'own-memory',
    sentence: 'the worker uses 985 MB of the 1000 MB it may use, and 16 MB are to stay free',
    retryInMs: 5_000,
  });
  expect(decide({ ownBytes: 984 * MB })).toMatchObject({ admit: true });
  expect(decide({ ownBytes: 985 * MB, ownMaxBytes: null })).toMatchObject({ admit: true });
});

it('does not hold the memory of the worker against a job in a process of its own', () => {
  expect(decide({ ownBytes: 985 * MB, isInline: false })).toMatchObject({ admit: true });
});

it('denies a job whose handler was seen to need more than is free', () => {
  expect(decide({ profile: hungry, isInline: false, availableBytes: 331 * MB })).toMatchObject({
    admit: false,
    reason: 'system-memory',
    numbers: { neededBytes: 300 * MB, freeBytes: 331 * MB, headroomBytes: 32 * MB },
  });
  expect(decide({ profile: hungry, isInline: false, availableBytes: 332 * MB })).toMatchObject({
    admit: true,
  });
});

it('counts what was promised to jobs that have only just begun', () => {
  const facts = { profile: hungry, isInline: false, availableBytes: 600 * MB };
  expect(decide(facts)).toMatchObject({ admit: true });
  expect(decide({ ...facts, promisedBytes: 300 * MB })).toMatchObject({ admit: false });
});

it('lets nothing in while the machine itself is short', () => {
  expect(decide({ availableBytes: 31 * MB })).toMatchObject({ admit: false, reason: 'system-memory' });
});

it('asks nothing of memory that can not be told', () => {
  expect(decide({ profile: hungry, isInline: false, availableBytes: null })).toMatchObject({ admit: true });
});

it('lets an idle worker take one job despite memory', () => {
  const short = { profile: hungry, isInline: false, availableBytes: 100 * MB, isIdle: true };
  expect(decide(short)).toMatchObject({ admit: true, despite: { reason: 'system-memory' } });
  expect(decide({ ownBytes: 999 * MB, isIdle: true })).toMatchObject({
    admit: true,
    despite: { reason: 'own-memory' },
  });
});

it('but not when another worker shares that memory, and never despite time', () => {
  const short = { profile: hungry, isInline: false, availableBytes: 100 * MB, isIdle: true };
  expect(decide({ ...short, hasNeighbours: true })).toMatchObject({ admit: false });
  expect(decide({ profile: slow, timeLeftMs: 10_000, isIdle: true })).toMatchObject({ admit: false });
});

it.each([
  ['the default of a machine of 4 GB', 3_000 * MB, 16 * MB],
  ['a threshold that was set', 200 * MB, 16 * MB],
  ['a small one', 64 * MB, 16 * MB],
  ['much that is to stay free', 200 * MB, 1_000 * MB],
])(
  'a worker that grows makes room for a fresh one before it refuses work: %s',
  (_, recycleAtBytes, headroom) => {
    const ownMaxBytes = ownMemoryBound(recycleAtBytes, headroom);
    const never = { value: 0, isExplicit: true };
    const wantsFresh = (rssBytes: number): boolean =>
      decideRecycle(
        { jobs: never, memory: { value: recycleAtBytes, isExplicit: true } },
        { jobsDone: 0, rssBytes, ageMs: 0, lostLanes: null },
      ) !== null;
    const admits = (ownBytes: number): boolean =>
      decideAdmission({ ...calm, ownBytes, ownMaxBytes }, { ...rules, memoryHeadroomBytes: headroom }).admit;
    for (let ownBytes = 0; ownBytes < 6_000 * MB; ownBytes += MB)
      if (!admits(ownBytes)) expect(wantsFresh(ownBytes), `at ${ownBytes / MB} MB`).toBe(true);
    expect(wantsFresh(recycleAtBytes) && admits(recycleAtBytes)).toBe(true);
    expect(admits(6_000 * MB)).toBe(false);
  },
);

it('who wants no limit on the memory of a worker has its jobs refused for none', () => {
  expect(decide({ ownBytes: 1e15, ownMaxBytes: ownMemoryBound(0, 16 * MB) })).toMatchObject({ admit: true });
});
