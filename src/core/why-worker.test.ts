import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { type WhyWorkerFacts, whyWorkerReasons, workerReasonCodes } from './why-worker.js';

type Worker = WhyWorkerFacts['worker'];
const lane = { kind: 'inline', number: 0, state: 'busy', width: 10, running: 1, note: null };
const worker: Worker = {
  ...{ alive: true, isStale: false, gone: false, state: 'RUNNING', stateReason: 'registered' },
  ...{ adminState: 'active', recycleAsked: false, silentForMs: 1_000, loopLagMs: 5, drain: null },
  ...{ handlers: ['work'], lanes: [lane], withoutLane: {}, notAdmitted: {} },
  ...{ alarms: {}, found: null },
};
const queue = { queue: 'default', paused: false, claimable: 3, dueNames: ['work', 'other'] };

const codes = (with_: Partial<Worker>, queues: WhyWorkerFacts['queues'] = [queue]): string[] =>
  whyWorkerReasons({ worker: { ...worker, ...with_ }, queues }).map(({ code }) => code);

const drain = { reason: 'recycle-jobs', owner: 'recycler' };
const byOperator = { reason: 'operator-drain', owner: 'operator' };

describe('why a worker gets no work', () => {
  it.each<[string, Partial<Worker>, WhyWorkerFacts['queues'], string[]]>([
    ['it has stopped', { gone: true, alive: false, state: 'EXIT' }, [queue], ['said-goodbye']],
    ['it is offline', { alive: false, isStale: true, silentForMs: 130_000 }, [queue], ['silent']],
    ['it is stale', { isStale: true, silentForMs: 50_000 }, [queue], ['silent']],
    ['it registers', { state: 'REGISTER' }, [queue], ['starting-up']],
    ['it has lost its database', { state: 'RECONNECTING' }, [queue], ['link-lost']],
    ['it ends', { state: 'DRAINING', drain }, [queue], ['draining']],
    [
      'an operator drained it',
      { state: 'DRAINING', adminState: 'drain', drain: byOperator },
      [queue],
      ['drained-by-operator'],
    ],
    ['it is on standby', { adminState: 'standby' }, [queue], ['on-standby']],
    ['it is to recycle', { recycleAsked: true }, [queue], ['recycle-wanted', 'takes-work']],
    ['its loop is blocked', { loopLagMs: 4_000 }, [queue], ['loop-blocked', 'takes-work']],
    ['it knows no jobs', { handlers: [] }, [queue], ['no-handlers']],
    ['it is full', { lanes: [{ ...lane, running: 10 }] }, [queue], ['slots-full']],
    [
      'a lane is in quarantine',
      { lanes: [lane, { ...lane, kind: 'process', number: 1, state: 'quarantined', note: 'it dies' }] },
      [queue],
      ['lanes-unwell', 'takes-work'],
    ],
    ['its queue is paused', {}, [{ ...queue, paused: true, claimable: 0 }], ['queues-paused', 'nothing-due']],
    ['nothing is due', {}, [{ ...queue, claimable: 0, dueNames: [] }], ['nothing-due']],
    ['it has no handler', { handlers: ['else'] }, [queue], ['no-handler']],
    ['it lacks the lane', { withoutLane: { work: 'process' } }, [queue], ['lane-missing']],
    ['it has no memory', { notAdmitted: { work: '5 MB are free' } }, [queue], ['not-admitted']],
    [
      'it has lost a slot',
      { alarms: { 'slots-overrun': '2 > 1' } },
      [queue],
      ['slots-overrun', 'takes-work'],
    ],
    ['no wake-up reaches it', { alarms: { 'polls-alone': 'x' } }, [queue], ['polls-alone', 'takes-work']],
    ['its disk is full', { alarms: { 'disk-full': 'x' } }, [queue], ['disk-full', 'takes-work']],
    ['its program is too big', { alarms: { 'own-memory': 'x' } }, [queue], ['own-memory', 'takes-work']],
    ['it tells of what nobody knows', { alarms: { 'of-later': 'x' } }, [queue], ['takes-work']],
    ['nothing is wrong', {}, [queue], ['takes-work']],
  ])('when %s', (_what, with_, queues, expected) => {
    expect(codes(with_, queues)).toEqual(expected);
  });

  it('says it with names and numbers', () => {
    const [reason] = whyWorkerReasons({ worker: { ...worker, handlers: ['else'] }, queues: [queue] });
    expect(reason).toEqual({
      code: 'no-handler',
      sentence: 'It has no handler for what waits first in its queues: work, other.',
      numbers: { due: 3, names: 2 },
    });
  });
});

test('the guide names every reason of workers, and no other', () => {
  const guide = readFileSync(new URL('../../docs/guides/why.md', import.meta.url), 'utf8');
  const section = guide.split(/^## /m).find((part) => part.startsWith('A worker without work')) ?? '';
  const named = [...section.matchAll(/^- `([a-z-]+)`/gm)].map((match) => match[1]);
  expect(named.sort()).toEqual(Object.keys(workerReasonCodes).sort());
});
