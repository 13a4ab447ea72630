import { expect, it } from 'vitest';
import { SlotWatch } from './slot-watch.js';

it('tells what lasts, and not what begins and ends in a lane a moment apart', () => {
  const seen = { nowMs: 0, running: 1, slots: 0 };
  const watch = new SlotWatch({
    count: () => [{ kind: 'process', ...seen }],
    lastingMs: 1_000,
    now: () => seen.nowMs,
  });
  const look = (fields: Partial<typeof seen>): string | null => {
    Object.assign(seen, fields);
    return watch.look();
  };
  expect(look({})).toBeNull();
  expect(look({ nowMs: 999 })).toBeNull();
  expect(look({ nowMs: 1_500, slots: 1 })).toBeNull();
  expect(look({ nowMs: 2_000, slots: 0 })).toBeNull();
  expect(look({ nowMs: 3_000 })).toBe(
    '1 jobs are counted as running in process lanes, of which 0 have a job',
  );
  expect(look({ nowMs: 4_000, running: 0 })).toBeNull();
});
