import { expect, it } from 'vitest';
import { slotOverruns } from './slot-overrun.js';

it('what fits is no overrun', () => {
  expect(slotOverruns([])).toEqual([]);
  expect(
    slotOverruns([
      { kind: 'inline', running: 10, slots: 10 },
      { kind: 'process', running: 1, slots: 2 },
    ]),
  ).toEqual([]);
});

it('names the kind of slot in which more is counted as running than there is to run it', () => {
  expect(
    slotOverruns([
      { kind: 'inline', running: 11, slots: 10 },
      { kind: 'process', running: 2, slots: 1 },
      { kind: 'browser', running: 1, slots: 1 },
    ]),
  ).toEqual([
    { kind: 'inline', running: 11, slots: 10, sentence: '11 jobs are counted as running in 10 inline slots' },
    {
      kind: 'process',
      running: 2,
      slots: 1,
      sentence: '2 jobs are counted as running in process lanes, of which 1 have a job',
    },
  ]);
});
