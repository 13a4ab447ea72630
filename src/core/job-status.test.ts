import { describe, expect, it } from 'vitest';
import { isFinal, isJobStatus, jobEvents, jobStatuses, jobTransitions, nextStatus } from './job-status.js';

/** Written out apart from the table, so that a slip in one shows. Every pair not here is illegal. */
const legal = [
  'pending + claim = processing',
  'pending + bury = buried',
  'pending + cancel = cancelled',
  'pending + delete = deleted',
  'blocked + block-release = pending',
  'blocked + bury = buried',
  'blocked + cancel = cancelled',
  'blocked + delete = deleted',
  'processing + complete = completed',
  'processing + retry = pending',
  'processing + snooze = pending',
  'processing + put-back = pending',
  'processing + recover = pending',
  'processing + bury = buried',
  'processing + cancel = cancelled',
  'completed + retry-again = pending',
  'completed + delete = deleted',
  'buried + retry-again = pending',
  'buried + delete = deleted',
  'cancelled + retry-again = pending',
  'cancelled + delete = deleted',
];

describe('the transitions of a job', () => {
  const pairs = jobStatuses.flatMap((status) => jobEvents.map((event) => ({ status, event })));

  it('have a row for every status and every event', () => {
    expect(pairs).toHaveLength(66);
    for (const { status, event } of pairs) expect(jobTransitions[status][event]).toBeDefined();
  });

  it('are exactly these', () => {
    const found = pairs
      .map(({ status, event }) => ({ status, event, next: nextStatus(status, event) }))
      .filter(({ next }) => next !== 'illegal')
      .map(({ status, event, next }) => `${status} + ${event} = ${next}`);
    expect(found.toSorted()).toEqual(legal.toSorted());
  });

  it('leave a final status only by an operator: retried or deleted', () => {
    for (const status of jobStatuses.filter(isFinal)) {
      const ways = jobEvents.filter((event) => nextStatus(status, event) !== 'illegal');
      expect(ways).toEqual(['retry-again', 'delete']);
    }
  });

  it('lead from every status to an end', () => {
    for (const status of jobStatuses.filter((each) => !isFinal(each))) {
      const reached = new Set<string>([status]);
      for (const from of reached) {
        if (isJobStatus(from)) for (const event of jobEvents) reached.add(nextStatus(from, event));
      }
      expect([...reached]).toEqual(expect.arrayContaining(['completed', 'buried', 'cancelled']));
    }
  });

  it('cannot be changed at run time', () => {
    expect(Object.isFrozen(jobTransitions)).toBe(true);
    for (const status of jobStatuses) expect(Object.isFrozen(jobTransitions[status])).toBe(true);
  });
});

it('knows its statuses', () => {
  expect(jobStatuses.filter(isFinal)).toEqual(['completed', 'buried', 'cancelled']);
  expect(isJobStatus('pending')).toBe(true);
  expect(isJobStatus('retrying')).toBe(false);
  expect(isJobStatus('toString')).toBe(false);
});
