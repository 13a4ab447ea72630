import { expect } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { Storage } from '../../src/storage/storage.js';
import { workerReport } from '../support/worker-report.js';
import { hubFaultCases } from './hub-fault-cases.js';
import { done, failure, HOUR, LEASE, SECOND, type Stage, settlement, type Verdict } from './stage.js';
import { buried } from './verdicts.js';

/** One call that changes something, made in a queue of its own; `look` tells what came of it. */
export interface FaultCase {
  readonly call: (storage: Storage) => Promise<unknown>;
  readonly look: () => Promise<unknown>;
  /** The answers to the repeat: when the first call had not been made, and when it had. */
  readonly answers?: readonly [unmade: unknown, made: unknown];
}

export type Arrange = (stage: Stage, queue: string) => Promise<FaultCase>;

const retried: Verdict = { kind: 'retry', delayMs: HOUR, errors: failure() };

/** By call, or call and situation. */
export const faultCases: Record<string, Arrange> = {
  enqueue: async (stage, queue) => {
    const jobs = stage.newJobs(queue, 3);
    const last = stage.newJob(queue, {
      after: { ids: [jobs[0]?.id ?? ''], onFailure: 'bury' },
      unique: { key: queue, scope: 'active', periodMs: 0 },
      idempotency: { key: queue, inputHash: 'a'.repeat(64) },
    });
    const all = [...jobs, last];
    const outcomes = (outcome: string) => all.map(({ id }) => ({ outcome, id }));
    return {
      call: (storage) => storage.enqueue(all),
      look: () => stage.statuses(all.map(({ id }) => id)),
      answers: [outcomes('created'), outcomes('replayed')],
    };
  },
  claim: async (stage, queue) => {
    await stage.addMany(queue, 5);
    const request = stage.request(queue, { limit: 3, start: 2 });
    return {
      call: async (storage) => (await storage.claim(request)).map(({ started }) => started).sort(),
      look: async () => {
        const held = await stage.storage.held(request.token.slice(0, 16));
        return [held.length, (await stage.stats(queue)).claimable];
      },
      answers: [
        [false, true, true],
        [false, true, true],
      ],
    };
  },
  settle: async (stage, queue) => {
    await stage.addMany(queue, 3);
    const [one, two, three] = await stage.claim(queue);
    if (!one || !two || !three) throw new Error('three jobs');
    const child = await stage.add(queue, { after: { ids: [one.id], onFailure: 'bury' } });
    const settlements = [settlement(one, done), settlement(two, retried), settlement(three, buried)];
    return {
      call: (storage) => storage.settle(settlements),
      look: async () => [
        await stage.statuses([one.id, two.id, three.id, child]),
        (await stage.record(two.id)).attempts,
        await stage.stats(queue),
      ],
      answers: [
        ['done', 'done', 'done'],
        ['done', 'lease-lost', 'done'],
      ],
    };
  },
  exchange: async (stage, queue) => {
    await stage.addMany(queue, 4);
    const [one, two] = await stage.claim(queue, { limit: 2 });
    if (!one || !two) throw new Error('two jobs');
    const request = stage.request(queue, { limit: 1 });
    const settlements = [settlement(one, done), settlement(two, retried)];
    return {
      call: async (storage) => {
        const { settled, claimed } = await storage.exchange(settlements, request);
        return [settled, claimed.length];
      },
      look: () => stage.stats(queue),
      answers: [
        [['done', 'done'], 1],
        [['done', 'lease-lost'], 1],
      ],
    };
  },
  markStarted: async (stage, queue) => {
    const job = await stage.running(queue, {}, { start: 0 });
    return {
      call: (storage) => storage.markStarted([job]),
      look: async () => (await stage.record(job.id)).started,
      answers: [[], []],
    };
  },
  renew: async (stage, queue) => {
    const job = await stage.running(queue);
    stage.advance(LEASE / 2);
    const held = [{ id: job.id, token: job.token, stopRequest: null }];
    return {
      call: (storage) => storage.renew(job.token.slice(0, 16), LEASE),
      look: async () => {
        const { leaseUntilMs } = await stage.record(job.id);
        return Math.round(((leaseUntilMs ?? 0) - (await stage.storage.now())) / (LEASE / 4));
      },
      answers: [held, held],
    };
  },
  takeBack: async (stage, queue) => {
    await stage.addMany(queue, 3);
    await stage.claim(queue);
    stage.advance(LEASE + SECOND);
    const [one, two, three] = await stage.expired(queue);
    if (!one || !two || !three) throw new Error('three leases');
    const ids = [one.id, two.id, three.id];
    return {
      call: (storage) =>
        storage.takeBack([
          { ...one, kind: 'lapsed' },
          { ...two, kind: 'died', delayMs: 0, alone: true, errors: failure() },
          { ...three, kind: 'poison', errors: failure() },
        ]),
      look: async () =>
        (await Promise.all(ids.map((id) => stage.record(id)))).map(({ status, lapses, deaths }) => [
          status,
          lapses,
          deaths,
        ]),
      answers: [
        ['done', 'done', 'done'],
        ['renewed', 'renewed', 'renewed'],
      ],
    };
  },
  releaseBlocked: async (stage, queue) => {
    const parent = await stage.add(queue);
    const child = await stage.add(queue, { after: { ids: [parent], onFailure: 'bury' } });
    return {
      call: (storage) => storage.releaseBlocked(100),
      look: () => stage.statuses([parent, child]),
      answers: [0, 0],
    };
  },
  retry: async (stage, queue) => {
    const { id } = await stage.ended(queue, buried, { unique: { key: queue, scope: 'active', periodMs: 0 } });
    return {
      call: (storage) => storage.retry(id),
      look: () => stage.statuses([id]),
      answers: ['done', 'done'],
    };
  },
  retryBuried: async (stage, queue) => {
    const { id } = await stage.ended(queue, buried);
    return {
      call: (storage) => storage.retryBuried({ queue, limit: 10 }),
      look: () => stage.statuses([id]),
      answers: [
        { retried: 1, duplicates: 0 },
        { retried: 0, duplicates: 0 },
      ],
    };
  },
  ...stops('bury', 'already-final'),
  ...stops('cancel', 'already-final'),
  ...stops('delete', 'not-found'),
  edit: async (stage, queue) => {
    const id = await stage.add(queue, { due: { inMs: HOUR } });
    return {
      call: (storage) => storage.edit(id, { payload: '2', priority: 4 }),
      look: async () => {
        const { status, payload, priority } = await stage.record(id);
        return [status, payload, priority];
      },
      answers: ['done', 'done'],
    };
  },
  changeMany: async (stage, queue) => {
    const ids = await stage.addMany(queue, 2);
    const child = await stage.add(queue, { after: { ids: [ids[0] ?? ''], onFailure: 'run' } });
    return {
      call: (storage) => storage.changeMany({ change: { kind: 'cancel' }, ids }),
      look: async () => [await stage.statuses([...ids, child]), await stage.stats(queue)],
      answers: [
        ['done', 'done'],
        ['already-final', 'already-final'],
      ],
    };
  },
  setPaused: async (stage, queue) => ({
    call: (storage) => storage.setPaused(queue, true),
    look: async () => (await stage.stats(queue)).paused,
  }),
  purge: async (stage, queue) => {
    await stage.purgeAll(['completed'], 0);
    const { id } = await stage.ended(queue, done);
    return {
      call: (storage) => storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 10 }),
      look: async () => [await stage.statuses([id]), (await stage.stats(queue)).completed],
      answers: [1, 0],
    };
  },
  purgeTraces: async (stage, queue) => {
    const job = await stage.running(queue);
    await stage.storage.appendLog([
      { id: job.id, token: job.token, seq: 1, kind: 'log', level: 'info', text: 'x' },
    ]);
    stage.advance(HOUR);
    return {
      call: async (storage) => {
        await storage.purgeTraces({ olderThanMs: HOUR / 2, limit: 1_000 });
      },
      look: () => stage.storage.log(job.id, { limit: 10 }),
    };
  },
  appendLog: async (stage, queue) => {
    const job = await stage.running(queue);
    const lines = [1, 2, 3].map(
      (seq) => ({ id: job.id, token: job.token, seq, text: `${seq}`, kind: 'log', level: 'info' }) as const,
    );
    return {
      call: (storage) => storage.appendLog(lines),
      look: async () => (await stage.storage.log(job.id, { limit: 10 })).map(({ text }) => text),
    };
  },
  register: async (stage, queue) => {
    const report = workerReport({ id: queue, incarnation: stage.incarnation() });
    const registered = { outcome: 'registered', adminState: 'active', epoch: expect.any(Number) as number };
    return {
      call: (storage) => storage.register(report, LEASE),
      look: async () => (await stage.storage.workers()).filter(({ id }) => id === queue).length,
      answers: [registered, registered],
    };
  },
  heartbeat: async (stage, queue) => {
    const report = workerReport({ id: queue, incarnation: stage.incarnation() });
    await stage.storage.register(report, LEASE);
    const ok = { outcome: 'ok', adminState: 'active' };
    return {
      call: (storage) => storage.heartbeat({ ...report, jobsDone: 5 }),
      look: async () => (await stage.storage.workers()).find(({ id }) => id === queue)?.jobsDone,
      answers: [ok, ok],
    };
  },
  unregister: async (stage, queue) => {
    const report = workerReport({ id: queue, incarnation: stage.incarnation() });
    await stage.storage.register(report, LEASE);
    return {
      call: (storage) => storage.unregister(queue, report.incarnation),
      look: async () => (await stage.storage.workers()).find(({ id }) => id === queue)?.gone,
    };
  },
  changeWorker: async (stage, queue) => {
    await stage.storage.register(workerReport({ id: queue, incarnation: stage.incarnation() }), LEASE);
    const entry = { id: uuidv7(), actor: 'me', action: 'worker.drain', target: queue, source: 'test' };
    return {
      call: (storage) => storage.changeWorker(queue, { kind: 'admin-state', adminState: 'drain' }, entry),
      look: async () => {
        const written = await stage.storage.audit({ limit: 1_000 });
        const { adminState } = await stage.storage.orders(queue);
        return [adminState, written.filter(({ target }) => target === queue).map(({ result }) => result)];
      },
      answers: ['done', 'done'],
    };
  },
  forgetSilent: async (stage, queue) => {
    await stage.storage.register(workerReport({ id: queue, incarnation: stage.incarnation() }), LEASE);
    const find = async () => (await stage.storage.workers()).find(({ id }) => id === queue);
    const heartbeatAtMs = (await find())?.heartbeatAtMs ?? 0;
    return {
      call: (storage) => storage.forgetSilent(queue, heartbeatAtMs),
      look: find,
      answers: [true, false],
    };
  },
  takeDuty: async (stage, queue) => ({
    call: (storage) => storage.takeDuty(queue, 'me', LEASE),
    look: () => stage.storage.takeDuty(queue, 'other', LEASE),
    answers: [true, true],
  }),
  releaseDuty: async (stage, queue) => {
    await stage.storage.takeDuty(queue, 'me', LEASE);
    return {
      call: (storage) => storage.releaseDuty(queue, 'me'),
      look: () => stage.storage.takeDuty(queue, 'other', LEASE),
    };
  },
  // Told once: a repeat may count it twice, so what is looked at is only that it is known.
  noteProfiles: (stage, queue) =>
    Promise.resolve({
      call: (storage) => storage.noteProfiles([{ name: queue, count: 1, totalMs: 5, maxRssBytes: null }]),
      look: async () => (await stage.storage.profiles([queue], HOUR)).map(({ averageMs }) => averageMs),
    }),
  addFile: async (stage, queue) => {
    const { id, token } = await stage.running(queue);
    const file = { id: uuidv7(), name: 'a.txt', type: 'text/plain', sizeBytes: 3, sha256: 'a'.repeat(64) };
    const addition = { lease: { id, token }, file, mostBytes: 100, mostFiles: 1 };
    return {
      call: async (storage) => (await storage.addFile(addition)).outcome,
      look: async () => (await stage.storage.files(id)).map(({ name, sizeBytes }) => [name, sizeBytes]),
      answers: ['done', 'done'],
    };
  },
  sweepFiles: async (stage, queue) => {
    const { id, token } = await stage.running(queue);
    const file = { id: uuidv7(), name: 'a.txt', type: 'text/plain', sizeBytes: 3, sha256: 'b'.repeat(64) };
    await stage.storage.addFile({ lease: { id, token }, file, mostBytes: 100, mostFiles: 1 });
    return {
      call: async (storage) => (await storage.sweepFiles({ after: null, limit: 1_000 })).removed,
      look: async () => (await stage.storage.files(id)).length,
    };
  },
  fileStoreId: async (stage) => ({
    call: async (storage) =>
      (await storage.fileStoreId(uuidv7())) === (await stage.storage.fileStoreId(null)),
    look: async () => (await stage.storage.fileStoreId(uuidv7())) === (await stage.storage.fileStoreId(null)),
    answers: [true, true],
  }),
  ...hubFaultCases,
  tidy: async (stage, queue) => {
    await stage.ended(queue, done);
    return { call: (storage) => storage.tidy({ settled: 1, idle: true }), look: () => stage.stats(queue) };
  },
};

/** A stop call on a waiting job, and the same on one that runs. */
function stops(method: 'bury' | 'cancel' | 'delete', again: string): Record<string, Arrange> {
  return {
    [method]: async (stage, queue) => {
      const id = await stage.add(queue, { unique: { key: queue, scope: 'active', periodMs: 0 } });
      const child = await stage.add(queue, { after: { ids: [id], onFailure: 'cancel' } });
      return {
        call: (storage) => storage[method](id),
        look: async () => [await stage.statuses([id, child]), await stage.stats(queue)],
        answers: ['done', again],
      };
    },
    [`${method} of a running job`]: async (stage, queue) => {
      const { id } = await stage.running(queue);
      return {
        call: (storage) => storage[method](id),
        look: async () => (await stage.record(id)).stopRequest,
        answers: ['requested', 'requested'],
      };
    },
  };
}
