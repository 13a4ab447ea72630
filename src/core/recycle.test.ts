import { describe, expect, it } from 'vitest';
import { decideRecycle, type RecycleFacts, recycleMinAgeMs, recycleTurns } from './recycle.js';

const MB = 1024 ** 2;
const facts = (with_: Partial<RecycleFacts>): RecycleFacts => ({
  jobsDone: 0,
  rssBytes: 100 * MB,
  ageMs: 1_000,
  lostLanes: null,
  ...with_,
});
const rules = (jobs: number, memory: number, isExplicit: boolean) => ({
  jobs: { value: jobs, isExplicit },
  memory: { value: memory, isExplicit },
});

describe('recycling', () => {
  it('comes with the count of jobs that was set, at once, and says it in numbers', () => {
    const set = rules(200, 0, true);
    expect(decideRecycle(set, facts({ jobsDone: 199 }))).toBeNull();
    expect(decideRecycle(set, facts({ jobsDone: 200 }))).toEqual({
      reason: 'recycle-jobs',
      text: 'jobs_done=200 reached 200',
    });
  });

  it('waits with a default until the process is ten minutes old', () => {
    const byDefault = rules(1_000, 300 * MB, false);
    const full = facts({ jobsDone: 5_000, rssBytes: 900 * MB });
    expect(decideRecycle(byDefault, full)).toBeNull();
    expect(decideRecycle(byDefault, { ...full, ageMs: recycleMinAgeMs - 1 })).toBeNull();
    expect(decideRecycle(byDefault, { ...full, ageMs: recycleMinAgeMs })?.reason).toBe('memory');
  });

  it('names memory first, and never comes with 0', () => {
    const full = facts({ jobsDone: 5_000, rssBytes: 400 * MB, ageMs: 2 * recycleMinAgeMs });
    expect(decideRecycle(rules(1_000, 300 * MB, true), full)).toEqual({
      reason: 'memory',
      text: 'memory=400MB reached 300MB',
    });
    expect(decideRecycle(rules(0, 0, true), full)).toBeNull();
    expect(decideRecycle(rules(0, 0, false), full)).toBeNull();
  });

  it('comes at once for lanes that are lost, before anything else', () => {
    const full = facts({ rssBytes: 900 * MB, lostLanes: 'browser lanes: 2 of 2 quarantined for 30s' });
    expect(decideRecycle(rules(0, 300 * MB, true), full)).toEqual({
      reason: 'lanes-quarantined',
      text: 'browser lanes: 2 of 2 quarantined for 30s',
    });
    expect(decideRecycle(rules(0, 0, false), full)?.reason).toBe('lanes-quarantined');
  });

  it('lets a quarter of the workers go at once, and at least one', () => {
    expect([0, 1, 2, 4, 7, 8, 40].map(recycleTurns)).toEqual([1, 1, 1, 1, 1, 2, 10]);
  });
});
