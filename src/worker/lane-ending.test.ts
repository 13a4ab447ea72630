import { expect, it } from 'vitest';
import { parseFailures } from '../internal/failure.js';
import type { Settlement } from '../storage/settlement.js';
import type { AbortCause, Attempt } from './attempt.js';
import { settlementOfLane } from './lane-ending.js';
import type { LaneEnding } from './lanes/lane.js';

const lease = { id: 'j', token: 't' };
const abandoned: Settlement = { ...lease, kind: 'retry', delayMs: 7, errors: '[]' };
const ports = { executor: { abandon: () => abandoned }, workerId: 'w', random: () => 1, now: () => 5 };
const attemptWith = (deaths: number, abortCause: AbortCause | null = null): Attempt =>
  ({ job: { ...lease, deaths, attempts: 0, errors: null }, abortCause }) as unknown as Attempt;
const died: LaneEnding = {
  kind: 'died',
  exitCode: 134,
  signal: null,
  reason: 'exited with code 134',
  tail: 'Aborted (core dumped)',
  usage: null,
};

it('counts a death of the lane, uncharged, with the backoff of deaths', () => {
  const settlement = settlementOfLane(attemptWith(0), died, ports);
  expect(settlement).toMatchObject({ ...lease, kind: 'died', alone: false, delayMs: 5_000 });
  expect(settlementOfLane(attemptWith(1), died, ports)).toMatchObject({ kind: 'died', delayMs: 10_000 });
});

it('tells how it died and what it wrote', () => {
  const settlement = settlementOfLane(attemptWith(0), died, ports) as { errors: string };
  expect(parseFailures(settlement.errors)).toMatchObject([
    {
      kind: 'died',
      attempt: 1,
      worker: 'w',
      error: { name: 'LaneDied', message: expect.stringMatching(/exited with code 134.*Aborted/) },
    },
  ]);
});

it('buries the job as poison by the third death', () => {
  expect(settlementOfLane(attemptWith(2), died, ports)).toMatchObject({ kind: 'buried', reason: 'poison' });
});

it('settles what the abort says when the lane was killed for ignoring it', () => {
  expect(settlementOfLane(attemptWith(2, 'timed-out'), died, ports)).toBe(abandoned);
});

it('settles nothing under a lost lease', () => {
  const completed: LaneEnding = {
    kind: 'settled',
    settlement: { ...lease, kind: 'completed', result: null },
    usage: null,
  };
  expect(settlementOfLane(attemptWith(0, 'lease-lost'), completed, ports)).toBe(null);
});

it('puts a job back uncharged that its lane could not begin', () => {
  expect(settlementOfLane(attemptWith(0), { kind: 'refused', reason: 'it was gone' }, ports)).toMatchObject({
    kind: 'put-back',
    delayMs: 0,
  });
});
