import { describe, expect, it } from 'vitest';
// @ts-expect-error the benchmark is plain JavaScript
import { problemsOfDrain } from '../../../bench/counts.mjs';

const part = (handled: number[], strangers = 0) => ({ handled: Uint8Array.from(handled), strangers });
const drain = (parts: ReturnType<typeof part>[], completed = 4, unfinished = 0): string[] =>
  problemsOfDrain({ jobs: 4, parts, completed, unfinished }) as string[];

describe('the counts of a drain', () => {
  it('has nothing to say of jobs that were each handled once, by whichever process', () => {
    expect(drain([part([1, 0, 1, 0]), part([0, 1, 0, 1])])).toEqual([]);
  });

  it('finds a job that was never handled', () => {
    expect(drain([part([1, 1, 0, 1])])).toEqual(['1 of 4 jobs never handled']);
  });

  it('finds a job that one process handled twice, and one that two handled', () => {
    expect(drain([part([1, 2, 1, 1])])).toEqual(['1 of 4 jobs handled more than once']);
    expect(drain([part([1, 1, 1, 1]), part([0, 0, 0, 1])])).toEqual(['1 of 4 jobs handled more than once']);
  });

  it('finds strangers', () => {
    expect(drain([part([1, 1, 1, 1], 3)])).toEqual(['3 jobs handled that were not of this drain']);
  });

  it('does not believe the handlers where the database says otherwise', () => {
    expect(drain([part([1, 1, 1, 1])], 3, 1)).toEqual([
      'the database counts 3 completed jobs, expected 4',
      'the database holds 1 unfinished jobs, expected 0',
    ]);
  });
});
