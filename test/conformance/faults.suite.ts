import { expect, test } from 'vitest';
import { hasErrorCode } from '../../src/internal/errors.js';
import type { Storage } from '../../src/storage/storage.js';
import { seamMethods } from '../model/call-record.js';
import { Random } from '../model/random.js';
import { type Fault, faultyStorage } from '../support/faulty-storage.js';
import { checkHistory, type HistoryEvent } from '../support/history.js';
import { type FaultCase, faultCases } from './fault-cases.js';
import { done, failure, type Stage, settlement } from './stage.js';

const looks = new Set(
  'now serverUptimeMs held peek expired pausedQueues job jobs ahead endings idsEndingIn stats queues limits log workers orders audit profiles watch fleetOrders stopRequests hubs token tokens files file keptContents'.split(
    ' ',
  ),
);

export function faultsSuite(stage: Stage): void {
  for (const [name, arrange] of Object.entries(faultCases)) {
    const method = name.split(' ')[0] as keyof Storage;

    test(`${name}: repeated after its answer was lost, it has happened once`, async () => {
      const sound = await seen(await arrange(stage, stage.queue()), method, stage.storage, []);
      for (const fault of ['before', 'after'] as const) {
        const faultCase = await arrange(stage, stage.queue());
        const repeated = await seen(faultCase, method, stage.storage, [fault]);
        expect(withoutIds(repeated.state)).toEqual(withoutIds(sound.state));
        if (faultCase.answers !== undefined) {
          expect(repeated.answer).toEqual(faultCase.answers[fault === 'before' ? 0 : 1]);
        }
      }
    });
  }

  test('every call that changes something has its case', () => {
    const changing = [...seamMethods].filter((method) => !looks.has(method));
    expect(changing.filter((method) => faultCases[method] === undefined)).toEqual([]);
  });

  test('a worker whose calls fail at random finishes every job once', async () => {
    for (const seed of [1, 2, 3]) {
      const events = await drainUnreliably(stage, new Random(seed));
      expect(checkHistory(events)).toEqual([]);
      expect(
        events.filter(({ kind, verdict }) => kind === 'settled' && verdict === 'completed'),
      ).toHaveLength(60);
    }
  });
}

async function seen(
  { call, look }: FaultCase,
  method: keyof Storage,
  storage: Storage,
  faults: readonly Fault[],
): Promise<{ answer: unknown; state: unknown }> {
  const faulty = faultyStorage(storage);
  faulty.fail(method, faults);
  for (const _ of faults) {
    await expect(call(faulty.storage)).rejects.toSatisfy((error) => hasErrorCode(error, 'connection-lost'));
  }
  return { answer: await call(faulty.storage), state: await look() };
}

/** What differs from one arrangement to the next by its very nature. */
function withoutIds(state: unknown): unknown {
  return JSON.parse(
    JSON.stringify(state ?? null)
      .replace(/"q-[0-9a-f]{16}"/g, '"queue"')
      .replace(/"oldestDueForMs":\d+/g, '"oldestDueForMs":0'),
  );
}

/** Sixty jobs, a third of which fail once, by a worker that repeats each call until it is answered. */
async function drainUnreliably(stage: Stage, random: Random): Promise<HistoryEvent[]> {
  const queue = stage.queue();
  const events: HistoryEvent[] = [];
  const note = (event: Omit<HistoryEvent, 'at'>): void => void events.push({ at: events.length, ...event });
  const { storage } = faultyStorage(stage.storage, () =>
    random.chance(0.4) ? random.pick<Fault>(['before', 'after']) : null,
  );
  const jobs = stage.newJobs(queue, 60);
  const shaky = new Set(jobs.filter((_, index) => index % 3 === 0).map(({ id }) => id));
  await untilAnswered(() => storage.enqueue(jobs));
  for (const { id } of jobs) note({ kind: 'enqueued', jobId: id });
  for (;;) {
    const request = stage.request(queue, { limit: 7 });
    const claimed = await untilAnswered(() => storage.claim(request));
    if (claimed.length === 0) return events;
    const settlements = claimed.map((job) => {
      note({ kind: 'started', jobId: job.id, token: job.token, worker: 'w' });
      note({ kind: 'ended', jobId: job.id, token: job.token, worker: 'w' });
      const fails = shaky.has(job.id) && job.attempts === 0;
      return settlement(job, fails ? { kind: 'retry', delayMs: 0, errors: failure() } : done);
    });
    // A retry whose answer was lost is answered by "lease lost" when it is repeated.
    await untilAnswered(() => storage.settle(settlements));
    for (const { id, token, kind } of settlements) note({ kind: 'settled', jobId: id, token, verdict: kind });
  }
}

async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!hasErrorCode(error, 'connection-lost')) throw error;
    }
  }
  throw new Error('a hundred calls in a row were lost');
}
