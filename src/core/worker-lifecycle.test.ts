import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  nextWorkerState,
  stepOf,
  type WorkerEvent,
  type WorkerState,
  workerEvents,
  workerStates,
} from './worker-lifecycle.js';

/** As in the guide: next state, `·` ignored, `✗` illegal. */
const written = `
                 STARTING  REGISTER  RUNNING       RECONNECTING  DRAINING  EXIT
lanes-ready      REGISTER  ·         ·             ·             ·         ·
no-lane          EXIT      ·         ·             ·             ·         ·
registered       ✗         RUNNING   ·             ·             ·         ·
link-lost        ✗         ·         RECONNECTING  ·             ·         ·
link-restored    ✗         ·         ·             RUNNING       ·         ·
drain-asked      DRAINING  DRAINING  DRAINING      DRAINING      ·         ·
drain-cancelled  ✗         ✗         ·             ·             RUNNING   ·
signal           DRAINING  DRAINING  DRAINING      DRAINING      ·         ·
second-signal    DRAINING  DRAINING  DRAINING      DRAINING      ·         ·
deadline-passed  ✗         ✗         ✗             ✗             ·         ·
grace-passed     ✗         ✗         ✗             ✗             EXIT      ·
work-done        ✗         ✗         ·             ·             EXIT      ·
failed           EXIT      EXIT      DRAINING      DRAINING      ·         ·
`;

const steps = { '·': 'ignored', '✗': 'illegal' } as const;

describe('the life of a worker', () => {
  const [head = '', ...rows] = written.trim().split('\n');
  const states = head.trim().split(/ +/);

  it('is the table that is written here, each state × each event in it', () => {
    expect(states).toEqual([...workerStates]);
    expect(rows.map((row) => row.split(/ +/)[0])).toEqual([...workerEvents]);
    for (const row of rows) {
      const [event, ...cells] = row.split(/ +/);
      expect(cells).toHaveLength(states.length);
      cells.forEach((cell, index) => {
        const expected = cell in steps ? steps[cell as keyof typeof steps] : cell;
        expect(stepOf(states[index] as WorkerState, event as WorkerEvent), `${states[index]} ${event}`).toBe(
          expected,
        );
      });
    }
  });

  it('throws for what cannot come, and only for that', () => {
    expect(() => nextWorkerState('STARTING', 'work-done')).toThrow(/STARTING: expected .*, got "work-done"/);
    expect(nextWorkerState('RUNNING', 'registered')).toBe('RUNNING');
    for (const state of workerStates) {
      for (const event of workerEvents) {
        const isIllegal = stepOf(state, event) === 'illegal';
        if (isIllegal) expect(() => nextWorkerState(state, event)).toThrow();
        else expect(workerStates).toContain(nextWorkerState(state, event));
      }
    }
  });

  it('never leaves the table, and ends by EXIT alone, whatever comes in whatever order', () => {
    const lists = fc.array(fc.constantFrom(...workerEvents), { maxLength: 60 });
    fc.assert(
      fc.property(lists, (events) => {
        let state: WorkerState = 'STARTING';
        let isOver = false;
        for (const event of events) {
          const before: WorkerState = state;
          try {
            state = nextWorkerState(state, event);
          } catch {
            // Illegal: left as it is.
          }
          expect(workerStates).toContain(state);
          // Nothing follows EXIT, and nothing else is an end: from everywhere else a signal leads on.
          if (isOver) expect(state).toBe('EXIT');
          isOver = state === 'EXIT';
          if (!isOver) expect(stepOf(state, 'signal')).not.toBe('illegal');
          if (before === 'DRAINING') expect(['DRAINING', 'RUNNING', 'EXIT']).toContain(state);
        }
      }),
      { numRuns: 10_000 },
    );
  });

  it('comes to an end from everywhere by a signal and the end of the work', () => {
    for (const state of workerStates) {
      const draining = nextWorkerState(state, 'signal');
      expect(nextWorkerState(draining, 'work-done')).toBe('EXIT');
    }
  });
});
