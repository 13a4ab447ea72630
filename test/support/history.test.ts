import { describe, expect, test } from 'vitest';
import { checkHistory, type HistoryEvent } from './history.js';

/** Events a millisecond apart, about one job unless they say otherwise. */
function history(...events: Partial<HistoryEvent>[]): HistoryEvent[] {
  return [{ kind: 'enqueued' } as const, ...events].map(
    (event, at) => ({ at, jobId: 'j', ...event }) as HistoryEvent,
  );
}

const run = (token: string, worker: string): Partial<HistoryEvent>[] => [
  { kind: 'started', token, worker },
  { kind: 'ended', token, worker },
];
const completed = (token: string, worker: string): Partial<HistoryEvent> => ({
  kind: 'settled',
  token,
  worker,
  verdict: 'completed',
});
const rules = (events: HistoryEvent[]): string[] => checkHistory(events).map(({ rule }) => rule);

describe('history: what is right', () => {
  test('a job that is run and completed', () => {
    expect(rules(history(...run('a', 'w1'), completed('a', 'w1')))).toEqual([]);
  });

  test('a job whose worker was killed and that another completes', () => {
    const killed: Partial<HistoryEvent> = { kind: 'killed', worker: 'w1' };
    const events = history(
      { kind: 'started', token: 'a', worker: 'w1' },
      killed,
      ...run('b', 'w2'),
      completed('b', 'w2'),
    );
    expect(rules(events)).toEqual([]);
  });

  test('a retry, a put-back and a burial', () => {
    const events = history(
      ...run('a', 'w1'),
      { kind: 'settled', token: 'a', verdict: 'retry' },
      { kind: 'settled', token: 'b', verdict: 'put-back' },
      ...run('c', 'w1'),
      { kind: 'settled', token: 'c', verdict: 'buried' },
    );
    expect(rules(events)).toEqual([]);
  });

  test('a second run after the lease of the first had ended, and its late result refused', () => {
    const events = history(
      { kind: 'started', token: 'a', worker: 'w1', leaseUntil: 1 },
      { kind: 'started', token: 'b', worker: 'w2' },
      { kind: 'ended', token: 'a', worker: 'w1' },
      { kind: 'refused', token: 'a', worker: 'w1' },
      { kind: 'ended', token: 'b', worker: 'w2' },
      completed('b', 'w2'),
    );
    expect(checkHistory(events.map((event, at) => ({ ...event, at: at * 10 })))).toEqual([]);
  });

  test('events of several processes in any order of their files', () => {
    const events = history(...run('a', 'w1'), completed('a', 'w1'));
    expect(rules(events.reverse())).toEqual([]);
  });
});

describe('history: planted faults', () => {
  test('a lost job is found', () => {
    expect(rules(history())).toEqual(['lost job']);
    expect(rules(history(...run('a', 'w1')))).toEqual(['lost job']);
    expect(rules(history(...run('a', 'w1'), { kind: 'settled', token: 'a', verdict: 'retry' }))).toEqual([
      'lost job',
    ]);
  });

  test('a double settlement of one lease is found', () => {
    const events = history(...run('a', 'w1'), completed('a', 'w1'), completed('a', 'w1'));
    expect(rules(events)).toEqual(['second settlement of a lease', 'second completion of a job']);
  });

  test('a second completion under another lease is found', () => {
    const events = history(...run('a', 'w1'), completed('a', 'w1'), ...run('b', 'w2'), completed('b', 'w2'));
    expect(rules(events)).toEqual(['second completion of a job']);
  });

  test('two attempts at once are found', () => {
    const events = history(
      { kind: 'started', token: 'a', worker: 'w1' },
      { kind: 'started', token: 'b', worker: 'w2' },
      { kind: 'ended', token: 'a', worker: 'w1' },
      { kind: 'ended', token: 'b', worker: 'w2' },
      completed('b', 'w2'),
    );
    expect(rules(events)).toEqual(['overlapping attempts']);
  });

  test('a late result that was accepted is found', () => {
    const events = history(
      { kind: 'started', token: 'a', worker: 'w1' },
      { kind: 'lease-lost', token: 'a', worker: 'w1' },
      { kind: 'started', token: 'b', worker: 'w2' },
      { kind: 'ended', token: 'a', worker: 'w1' },
      completed('a', 'w1'),
    );
    expect(rules(events)).toEqual(['late settlement accepted']);
  });

  test('an assignment that was run twice is found', () => {
    const events = history(...run('a', 'w1'), ...run('a', 'w1'), completed('a', 'w1'));
    expect(rules(events)).toEqual(['second start of a lease']);
  });

  test('a completion that nobody ran for is found', () => {
    expect(rules(history(completed('a', 'w1')))).toEqual(['completion without a run']);
    const halfRun = history({ kind: 'started', token: 'a', worker: 'w1' }, completed('a', 'w1'));
    expect(rules(halfRun)).toEqual(['completion without a run']);
  });

  test('a job from nowhere is found', () => {
    const events = history(...run('a', 'w1'), completed('a', 'w1')).slice(1);
    expect(rules(events)).toEqual(['unknown job']);
  });
});
