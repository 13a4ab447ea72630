import { expect, it } from 'vitest';
import type { ClaimedJob } from '../../storage/claimed-job.js';
import { FoundMeter, type FoundMeterOptions } from './found-meter.js';

const pollMs = 1_000;

function meterWith(options: Partial<FoundMeterOptions> = {}) {
  const clock = { nowMs: 1_000_000 };
  const now = () => clock.nowMs;
  const meter = new FoundMeter({ pollMs, hasPush: true, databaseNow: now, now, ...options });
  const job = (fields: Partial<ClaimedJob> = {}): ClaimedJob =>
    ({
      createdAtMs: clock.nowMs - 500,
      dueAtMs: clock.nowMs - 500,
      attempts: 0,
      deaths: 0,
      limit: null,
      cost: 1,
      requires: [],
      ...fields,
    }) as unknown as ClaimedJob;
  /** One job every five polls for five minutes, each found by the poll. */
  const poll = (make: () => ClaimedJob = job): void => {
    for (let count = 0; count < 60; count += 1) {
      clock.nowMs += 5 * pollMs;
      meter.found([make()], 'poll');
    }
  };
  return { meter, clock, job, poll };
}

it('counts how jobs were found', () => {
  const { meter, job } = meterWith();
  meter.found([job(), job()], 'push');
  meter.found([job()], 'due');
  meter.found([job()], 'poll');
  meter.found([job(), job(), job()], 'other');
  expect(meter.counts).toEqual({ push: 2, due: 1, poll: 1, along: 3 });
  expect(meter.alarm).toBeNull();
});

it('running on the poll alone is an alarm, until a wake-up comes', () => {
  const { meter, poll } = meterWith();
  poll();
  expect(meter.alarm).toBe(
    'the last 60 new jobs were found by the poll alone, and no wake-up came for 4m55s: jobs start up to 1s late',
  );
  meter.pushed();
  expect(meter.alarm).toBeNull();
  poll();
  expect(meter.alarm).not.toBeNull();
});

it('a few, or many within a moment, are none', () => {
  const { meter, clock, job } = meterWith();
  meter.found([job()], 'poll');
  clock.nowMs += 3_600_000;
  expect(meter.alarm).toBeNull();
  const other = meterWith();
  other.meter.found(
    Array.from({ length: 100 }, () => other.job()),
    'poll',
  );
  expect(other.meter.alarm).toBeNull();
});

it.each([
  ['delayed', (nowMs: number) => ({ createdAtMs: nowMs - 1_500, dueAtMs: nowMs - 10 })],
  ['retried', () => ({ attempts: 1 })],
  ['older than the poll before', (nowMs: number) => ({ createdAtMs: nowMs - 9_000, dueAtMs: nowMs - 9_000 })],
  ['limited', () => ({ limit: { group: 'g', max: 1, key: null } })],
])('jobs that are %s are no business of a wake-up', (_, fieldsAt) => {
  const { meter, clock, job, poll } = meterWith();
  poll(() => job(fieldsAt(clock.nowMs) as Partial<ClaimedJob>));
  expect(meter.alarm).toBeNull();
});

it('where an engine tells of nothing polling is no fallback', () => {
  const { meter, poll } = meterWith({ hasPush: false });
  poll();
  expect(meter.alarm).toBeNull();
  expect(meter.counts.poll).toBe(60);
});
