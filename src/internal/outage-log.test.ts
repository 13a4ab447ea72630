import { expect, it } from 'vitest';
import { OutageLog } from './outage-log.js';

function outage() {
  let nowMs = 5_000;
  const log = new OutageLog(() => nowMs);
  /** At which seconds of so many, with a failure each, there is something to tell. */
  const toldWithin = (seconds: number, kind?: string): number[] => {
    const told: number[] = [];
    for (let second = 0; second < seconds; second += 1) {
      if (log.failed(kind)) told.push(second);
      nowMs += 1_000;
    }
    return told;
  };
  return { log, toldWithin };
}

it('is told once, then ever more seldom, at least once a minute', () => {
  expect(outage().toldWithin(250)).toEqual([0, 10, 30, 70, 130, 190]);
});

it('says how often it had failed once it works again, and begins anew', () => {
  const { log, toldWithin } = outage();
  expect(log.worked()).toBe(0);
  toldWithin(40);
  expect(log.failures).toBe(40);
  expect(log.worked()).toBe(40);
  expect(log.worked()).toBe(0);
  expect(toldWithin(12)).toEqual([0, 10]);
});

it('tells another kind of failure at once, and each kind once out of turn', () => {
  const { log, toldWithin } = outage();
  expect(toldWithin(2, 'database-unreachable')).toEqual([0]);
  expect(log.failed('schema-too-new')).toBe(true);
  expect(log.failed('database-unreachable')).toBe(false);
  expect(log.failed('schema-too-new')).toBe(false);
});
