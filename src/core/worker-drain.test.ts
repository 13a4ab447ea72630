import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Drain,
  drainReasons,
  endsWorker,
  isRecycle,
  strongestDrain,
  withDrain,
  withoutDrainOf,
} from './worker-drain.js';

const drain = (reason: Drain['reason'], owner: string = reason, deadlineMs: number | null = null): Drain => ({
  reason,
  owner,
  deadlineMs,
});

describe('drains', () => {
  it('rank second signal > signal > stop > … > recycle by job count > operator drain', () => {
    for (const [index, reason] of drainReasons.entries()) {
      const weaker = drainReasons.slice(index + 1);
      for (const other of weaker) {
        expect(strongestDrain([drain(other), drain(reason)])?.reason).toBe(reason);
        expect(strongestDrain([drain(reason), drain(other)])?.reason).toBe(reason);
      }
    }
    expect(strongestDrain([])).toBeNull();
  });

  it('of one reason let the nearer deadline count, and none is the farthest', () => {
    const near = drain('signal', 'a', 10);
    expect(strongestDrain([drain('signal', 'b', 20), near, drain('signal', 'c')])).toBe(near);
  });

  it('are one for each owner, which never becomes weaker by a further word of its owner', () => {
    const first = withDrain([], drain('signal', 'SIGTERM', 25_000));
    expect(withDrain(first, drain('second-signal', 'SIGTERM', 0))).toEqual([
      drain('second-signal', 'SIGTERM', 0),
    ]);
    expect(withDrain(first, drain('signal', 'SIGTERM', 30_000))).toBe(first);
    expect(withoutDrainOf(first, 'SIGTERM')).toEqual([]);
  });

  it('end the worker but for an operator’s, and only signals and stops have a deadline by themselves', () => {
    expect(drainReasons.filter((reason) => !endsWorker(drain(reason)))).toEqual(['operator-drain']);
    expect(drainReasons.filter((reason) => isRecycle(drain(reason)))).toEqual([
      'recycle-asked',
      'lanes-quarantined',
      'memory',
      'recycle-jobs',
    ]);
  });

  it('give the same strongest in whatever order they were asked for', () => {
    const any = fc.record({
      reason: fc.constantFrom(...drainReasons),
      owner: fc.uuid(),
      deadlineMs: fc.option(fc.nat(1_000)),
    });
    fc.assert(
      fc.property(fc.uniqueArray(any, { selector: ({ owner }) => owner }), (drains) => {
        const forth = strongestDrain(drains.reduce<readonly Drain[]>(withDrain, []));
        const back = strongestDrain([...drains].reverse().reduce<readonly Drain[]>(withDrain, []));
        expect(back?.reason).toBe(forth?.reason);
        expect(back?.deadlineMs).toBe(forth?.deadlineMs);
      }),
    );
  });
});
