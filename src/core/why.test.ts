import { describe, expect, it } from 'vitest';
import { whyReasons } from './why.js';
import type { WhyFacts, WhyJob, WhyWorker } from './why-facts.js';

const job: WhyJob = {
  ...{ id: '0199c0de-7a11-7abc-9def-0123456789ab', name: 'work', queue: 'q', status: 'pending' },
  ...{ attempts: 0, maxAttempts: 3, deaths: 0, dueAtMs: 0, claimedAtMs: null, finishedAtMs: null },
  ...{ workerId: null, reason: null, outcome: null, stopRequest: null, leaseUntilMs: null },
  ...{ isStarted: false, alone: false, cost: 1, requires: [], lastFailure: null },
};
const worker: WhyWorker = {
  ...{ id: 'w', queues: ['q'], handlers: ['work'], labels: [], concurrency: 2, running: 0 },
  ...{ isDraining: false, isStandby: false, withoutLane: {}, laneAilments: {}, notAdmitted: {} },
};
const facts: WhyFacts = {
  ...{
    nowMs: 1_000,
    job,
    isQueuePaused: false,
    bounds: { limit: null, budgets: [] },
    waitsFor: [],
    failedParents: [],
    ahead: 0,
    workers: [worker],
  },
  ...{ holderSilentForMs: null, progress: null, keptForMs: null },
};
const codes = (given: Partial<WhyFacts>): string[] =>
  whyReasons({ ...facts, ...given }).map(({ code }) => code);

describe('why a job is where it is', () => {
  it('names every obstacle, the first to be removed first', () => {
    const late = { ...job, dueAtMs: 5_000, attempts: 1, reason: 'no room', alone: true };
    expect(codes({ job: late, isQueuePaused: true, workers: [] })).toEqual([
      ...['queue-paused', 'not-due', 'put-back', 'failed-before', 'no-live-worker', 'runs-alone'],
    ]);
  });

  it('counts workers on standby and draining ones apart', () => {
    const workers = [
      { ...worker, isStandby: true },
      { ...worker, isDraining: true, isStandby: true },
    ];
    const [reason] = whyReasons({ ...facts, workers });
    expect(reason).toMatchObject({
      code: 'workers-not-taking',
      sentence: '2 live workers could run it, but take no new jobs: 1 draining, 1 on standby.',
      numbers: { able: 2, draining: 1, standby: 1 },
    });
    expect(codes({ workers: [...workers, worker] })).toEqual(['about-to-run']);
  });

  it('tells of workers that have its handler but no lane for it, or do not admit it', () => {
    const without = { ...worker, withoutLane: { work: 'process' } };
    expect(whyReasons({ ...facts, workers: [without, { ...without, id: 'v' }] })[0]).toMatchObject({
      code: 'no-lane',
      sentence: 'It runs in a process lane, and worker w has none that takes work, nor can 1 other.',
    });
    const ailing = { ...without, laneAilments: { process: 'lane 1: its process exited with code 1' } };
    expect(whyReasons({ ...facts, workers: [ailing] })[0]?.sentence).toBe(
      'It runs in a process lane, and worker w has none that takes work: lane 1: its process exited with code 1',
    );
    const denying = { ...worker, notAdmitted: { work: '5 MB of memory were free' } };
    expect(whyReasons({ ...facts, workers: [denying] })[0]).toMatchObject({
      code: 'not-admitted',
      sentence: 'Worker w does not start it for now: 5 MB of memory were free.',
    });
    expect(codes({ workers: [without, denying, worker] })).toEqual(['about-to-run']);
    expect(codes({ workers: [{ ...worker, withoutLane: { other: 'process' } }] })).toEqual(['about-to-run']);
  });

  it('tells what a worker gave it back for when there was no room for it', () => {
    const denied = { ...job, reason: 'not-admitted: 5 MB of memory were free' };
    expect(whyReasons({ ...facts, job: denied })[0]).toMatchObject({
      code: 'not-admitted',
      sentence: 'A worker gave it back, uncharged: 5 MB of memory were free.',
    });
  });

  it('tells of limits and budgets in numbers, and first of what keeps it for ever', () => {
    const limit = { group: 'smtp', key: null, most: 2, running: 2, holders: [] };
    const queue = { of: 'queue', name: 'q', budget: 5, running: 4 } as const;
    const dear = { ...job, cost: 2 };
    expect(codes({ job: dear, bounds: { limit, budgets: [queue] } })).toEqual(['limited', 'over-budget']);
    expect(codes({ job: dear, bounds: { limit: { ...limit, running: 1 }, budgets: [] } })).toEqual([
      'about-to-run',
    ]);
    const late = { ...job, cost: 6, dueAtMs: 5_000 };
    expect(codes({ job: late, bounds: { limit, budgets: [queue] } })).toEqual(['not-due', 'above-budget']);
  });

  it('tells of labels that no worker has', () => {
    const picky = { ...job, requires: ['eu', 'gpu'] };
    const half = { ...worker, labels: ['eu'] };
    expect(whyReasons({ ...facts, job: picky, workers: [half, worker] })[0]).toMatchObject({
      code: 'no-worker-for-labels',
      sentence:
        'It asks for the labels eu,gpu, and of 2 live workers with its handler and its queue none has all of them. Start one: "millrace work --labels eu,gpu".',
    });
    expect(codes({ job: picky, workers: [half, { ...worker, labels: ['eu', 'gpu'] }] })).toEqual([
      'about-to-run',
    ]);
  });

  it('says "at least" where the count stops', () => {
    expect(whyReasons({ ...facts, ahead: 10_000 })[0]?.sentence).toMatch(/^at least 10000 due jobs stand/i);
  });

  it('names ten parents, counts the rest, and knows when none is left', () => {
    const blocked = { ...job, status: 'blocked' } as const;
    const waitsFor = Array.from({ length: 12 }, (_, n) => ({
      id: `p${n}`,
      status: n === 0 ? null : ('pending' as const),
    }));
    const reasons = whyReasons({ ...facts, job: blocked, waitsFor });
    expect(reasons).toHaveLength(11);
    expect(reasons[0]?.sentence).toBe('It waits for job p0, which is gone: the next sweep lets this one go.');
    expect(reasons[10]?.sentence).toBe('It waits for 2 more jobs.');
    expect(whyReasons({ ...facts, job: blocked })[0]?.sentence).toMatch(/released this moment/);
  });

  it('has a reason for every status', () => {
    for (const status of ['pending', 'blocked', 'processing', 'completed', 'buried', 'cancelled'] as const) {
      expect(codes({ job: { ...job, status } }).length).toBeGreaterThan(0);
    }
  });

  it('a holder that is not registered any more is said so', () => {
    const lost = { ...job, status: 'processing', leaseUntilMs: 0, workerId: 'w', isStarted: true } as const;
    expect(whyReasons({ ...facts, job: lost })[0]?.sentence).toContain('is not registered any more');
  });
});
