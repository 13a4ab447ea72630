import { describe, expect, it } from 'vitest';
import { type Candidate, chooseJobs, type LineOfJobs } from './choose-jobs.js';
import { noBudgets } from './job-limit.js';
import { Occupancy } from './occupancy.js';

describe('chooseJobs', () => {
  const job = (id: string, dueAtMs: number, priority = 0): Candidate => ({ id, dueAtMs, priority });
  const take = { limit: 10, start: 10 };

  function lines(
    ...of: readonly { jobs: Candidate[]; isCut?: boolean; key?: string }[]
  ): LineOfJobs<Candidate>[] {
    const occupancy = new Occupancy(noBudgets);
    return of.map(({ jobs, isCut = false, key }) => {
      const limit = key === undefined ? null : { group: 'g', key, max: null };
      const room = occupancy.roomFor('q', { limit, cost: 2 });
      return { jobs, isCut, room, group: limit === null ? null : 'g', mayWait: false };
    });
  }

  const chosen = (of: LineOfJobs<Candidate>[]): string[] =>
    chooseJobs(take, [of]).map(({ job: { id } }) => id);

  it('takes all of a line that was read to its end', () => {
    expect(chosen(lines({ jobs: [job('a', 1), job('b', 2)] }, { jobs: [job('c', 3)] }))).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('ends where the next job of a line that was not read to its end might go', () => {
    const cut = { jobs: [job('a', 1), job('b', 2)], isCut: true };
    expect(chosen(lines(cut, { jobs: [job('c', 3)] }))).toEqual(['a', 'b']);
    expect(chosen(lines(cut, { jobs: [job('c', 1)] }, { jobs: [job('d', 3)] }))).toEqual(['a', 'c', 'b']);
  });

  it('goes on past such a line while others are before it', () => {
    const cut = { jobs: [job('a', 1, 5)], isCut: true };
    expect(chosen(lines(cut, { jobs: [job('b', 9, 9)] }, { jobs: [job('c', 0, 0)] }))).toEqual(['b', 'a']);
  });

  it('lets every key have its turn before one that was not read to its end could have another', () => {
    const keys = ['a', 'b', 'c'].map((key) => ({ jobs: [job(key, 1)], isCut: true, key }));
    expect(chosen(lines(...keys))).toEqual(['a', 'b', 'c']);
  });
});
