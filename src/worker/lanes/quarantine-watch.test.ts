import { expect, it } from 'vitest';
import type { LaneState } from './lane.js';
import { QuarantineWatch } from './quarantine-watch.js';

it('tells of lanes that stay in quarantine, and not of those that a trial brings back', () => {
  const seen: { nowMs: number; states: LaneState[] } = { nowMs: 0, states: ['idle', 'busy'] };
  const watch = new QuarantineWatch({
    lanes: () => seen.states.map((state) => ({ state, wasWell: true })),
    now: () => seen.nowMs,
  });
  const after = (seconds: number, ...states: LaneState[]): string | null => {
    seen.nowMs += seconds * 1_000;
    if (states.length > 0) seen.states = states;
    return watch.look();
  };
  expect(after(1)).toBeNull();
  expect(after(60, 'quarantined', 'idle')).toBeNull();
  expect(after(60, 'quarantined', 'quarantined')).toBeNull();
  expect(after(29)).toBeNull();
  // A trial brought one back, and it was lost again.
  expect(after(0.5, 'quarantined', 'idle')).toBeNull();
  expect(after(0.5, 'quarantined', 'quarantined')).toBeNull();
  expect(after(29)).toBeNull();
  expect(after(1)).toBe('browser lanes: 2 of 2 quarantined for 30s');
});
