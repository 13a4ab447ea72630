import { describe, expect, it } from 'vitest';
import type { NewJob } from '../storage/new-job.js';
import { dependencyOrder } from './dependency-sort.js';

const job = (id: string, ...parents: string[]): NewJob => ({
  id,
  name: `job-${id}`,
  queue: 'default',
  payload: 'null',
  version: 1,
  tags: [],
  priority: 0,
  due: { inMs: 0 },
  maxAttempts: 3,
  retentionMs: null,
  unique: null,
  idempotency: null,
  after: parents.length === 0 ? null : { ids: parents, onFailure: 'bury' },
  limit: null,
  cost: 1,
  requires: [],
});

describe('the order of a bulk dispatch', () => {
  it('stays as given where no job waits for a later one', () => {
    expect(dependencyOrder([job('a'), job('b')])).toBeNull();
    expect(dependencyOrder([job('a'), job('b', 'a'), job('c', 'elsewhere')])).toBeNull();
  });

  it('puts parents first', () => {
    expect(dependencyOrder([job('a', 'c'), job('b', 'a'), job('c'), job('d', 'b', 'c')])).toEqual([
      2, 0, 1, 3,
    ]);
  });

  it('manages a chain of 20,000 backwards', () => {
    const size = 20_000;
    const jobs = Array.from({ length: size }, (_, index) =>
      job(`${index}`, ...(index + 1 < size ? [`${index + 1}`] : [])),
    );
    expect(dependencyOrder(jobs)?.slice(0, 3)).toEqual([size - 1, size - 2, size - 3]);
  });

  it('refuses a circle and names the way round', () => {
    expect(() => dependencyOrder([job('x'), job('a', 'b'), job('b', 'c'), job('c', 'a')])).toThrow(
      /job-a \(a\) → job-b \(b\) → job-c \(c\) → job-a \(a\)/,
    );
    expect(() => dependencyOrder([job('a', 'a')])).toThrow('job-a (a) → job-a (a)');
  });
});
