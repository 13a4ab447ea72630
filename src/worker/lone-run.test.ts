import { expect, it, vi } from 'vitest';
import { LoneRun } from './lone-run.js';

function stage() {
  let isEmpty = false;
  const returned: string[] = [];
  let pokes = 0;
  const run = new LoneRun({
    random: () => 0.5,
    isEmpty: () => isEmpty,
    returnBuffer: () => returned.push('buffer'),
    poke: () => {
      pokes += 1;
    },
  });
  return { run, returned, pokes: () => pokes, setEmpty: (value: boolean) => (isEmpty = value) };
}

it('waits a moment, lets everything end, claims one, and goes on when that has ended', () => {
  vi.useFakeTimers();
  const { run, returned, pokes, setEmpty } = stage();
  run.noteDue();
  run.noteDue();
  expect(run.isExclusive).toBe(false);
  vi.advanceTimersByTime(500);
  expect([run.state, returned.length]).toEqual(['emptying', 1]);
  run.noteRoom();
  expect(run.wantsClaim).toBe(false);
  setEmpty(true);
  run.noteRoom();
  expect([run.wantsClaim, pokes()]).toEqual([true, 1]);
  run.noteClaimed(1);
  setEmpty(false);
  run.noteRoom();
  expect(run.state).toBe('running');
  setEmpty(true);
  run.noteRoom();
  expect([run.state, pokes()]).toEqual(['off', 2]);
  vi.useRealTimers();
});

it('goes on at once when another worker was faster', () => {
  vi.useFakeTimers();
  const { run, setEmpty } = stage();
  setEmpty(true);
  run.noteDue();
  vi.advanceTimersByTime(500);
  expect(run.state).toBe('claiming');
  run.noteClaimed(0);
  expect(run.state).toBe('off');
  vi.useRealTimers();
});
