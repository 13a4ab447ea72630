import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/storage/capabilities.js';
import type { Storage } from '../../../src/storage/storage.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';
import { addJobs, type HubStage, newJob, openHub } from '../../support/hub-stage.js';
import { completed, LinkClient } from '../../support/link-client.js';
import { waitFor } from '../../support/wait-for.js';

const deadlineMs = 25_000;
let queues = 0;

/** What a hub does for its workers, on one engine. */
export function linkSuite(name: Engine): void {
  describe.skipIf(!engineAvailable(name))(`[${name}] the link of workers to a hub`, () => {
    let engine: TestEngine;
    let stage: HubStage;
    let storage: Storage;
    /** Of the test alone. */
    let queue: string;

    beforeAll(async () => {
      engine = await openEngine(name);
      ({ storage } = engine);
      stage = await openHub(storage);
      await stage.hub.ready();
    });
    afterAll(async () => {
      await stage[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    });
    beforeEach(() => {
      queues += 1;
      queue = `q${queues}`;
    });

    const join = (options: Parameters<typeof LinkClient.join>[1] = {}): Promise<LinkClient> =>
      LinkClient.join(stage.url, { ...options, hello: { queues: [queue], ...options.hello } });
    const record = async (id: string) => {
      const found = await storage.workers();
      return found.find((worker) => worker.id === id);
    };
    const status = async (id: string): Promise<string | undefined> => (await storage.job(id))?.status;

    it('welcomes a worker, registers it and tells it its times', async () => {
      await using client = await LinkClient.connect(stage.url);
      const welcome = await client.hello({ labels: ['gpu'], concurrency: 3 });
      expect(welcome).toMatchObject({
        workerId: client.id,
        hubId: stage.hub.id,
        adminState: 'active',
        recycleAsked: false,
        held: [],
        leaseMs: 45_000,
        heartbeatMs: 15_000,
        ttlMs: 120_000,
        pingMs: 30_000,
        silenceMs: 120_000,
      });
      expect(Math.abs(welcome.nowMs - (await storage.now()))).toBeLessThan(5_000);
      expect(await record(client.id)).toMatchObject({
        incarnation: client.incarnation,
        link: 'hub',
        hubId: stage.hub.id,
        handlers: ['work'],
        labels: ['gpu'],
        concurrency: 3,
        connectionEpoch: welcome.epoch,
        disconnectedForMs: null,
      });
    });

    it('takes a result of 1 MB of which every letter is escaped', async () => {
      const [id = ''] = await addJobs(storage, 1, { queue });
      await using client = await join();
      client.want([client.take(1, { queues: [queue] })]);
      const { jobs } = await client.next('assign', ({ jobs: all }) => all.length > 0);
      const result = JSON.stringify('"'.repeat(512 * 1024 - 1));
      expect(result).toHaveLength(1024 ** 2);
      const settled = await client.settle(jobs.map((job) => ({ ...completed(job), result })));
      expect(settled.outcomes).toEqual(['done']);
      expect((await storage.job(id))?.result).toBe(result);
    });

    it('answers a want at once with what there is, and settles it', async () => {
      const ids = await addJobs(storage, 3, { queue });
      await using client = await join();
      const re = client.want([client.take(2, { queues: [queue] })]);
      const assign = await client.next('assign', (message) => message.re === re);
      expect(assign.jobs.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      expect(client.all('settled')).toEqual([{ type: 'settled', re, outcomes: [] }]);
      const settled = await client.settle(assign.jobs.map(completed));
      expect(settled.outcomes).toEqual(['done', 'done']);
      expect(await Promise.all(ids.map(status))).toEqual(['completed', 'completed', 'pending']);
    });

    it('pushes work that comes into room that stands', async () => {
      await using client = await join();
      const re = client.want([client.take(5, { queues: [queue] })]);
      expect((await client.next('assign', (message) => message.re === re)).jobs).toEqual([]);
      const ids = await addJobs(storage, 3, { queue });
      await waitFor(() => client.assigned.length === 3, { describe: 'three pushed jobs', deadlineMs });
      expect(client.assigned.map(({ id }) => id)).toEqual(ids);
      expect(
        client
          .all('assign')
          .slice(1)
          .every((assign) => assign.re === null),
      ).toBe(true);
    });

    it('pushes a job when it falls due', async () => {
      await using client = await join();
      client.want([client.take(1, { queues: [queue] })]);
      await client.next('assign');
      const [id] = await addJobs(storage, 1, { queue, due: { inMs: 1_500 } });
      await waitFor(() => client.assigned.length === 1, { describe: 'the due job', deadlineMs });
      expect(client.assigned[0]?.id).toBe(id);
    });

    it('never gives more than the room that was told, whatever is on its way', async () => {
      const ids = await addJobs(storage, 40, { queue });
      await using client = await join();
      const held = new Map<string, { id: string; token: string }>();
      let most = 0;
      let seen = 0;
      const note = (): void => {
        const assigns = client.all('assign');
        for (; seen < assigns.length; seen += 1)
          for (const job of assigns[seen]?.jobs ?? []) held.set(job.id, job);
        most = Math.max(most, held.size);
      };
      const isDone = async (): Promise<boolean> => {
        note();
        // Results and wants of every moment, none of which waits for an answer to the one before.
        const results = [...held.values()].slice(0, 2);
        for (const { id } of results) held.delete(id);
        const free = 4 - held.size;
        client.want(free > 0 ? [client.take(free, { queues: [queue] })] : [], {}, results.map(completed));
        return (await Promise.all(ids.map(status))).every((one) => one === 'completed');
      };
      await waitFor(isDone, { describe: 'forty jobs done', deadlineMs, intervalMs: 1 });
      expect(most).toBeLessThanOrEqual(4);
      expect(new Set(client.assigned.map(({ id }) => id)).size).toBe(40);
    });

    it('takes what it had assigned since off a want that had not seen it', async () => {
      await using client = await join();
      client.want([client.take(2, { queues: [queue] })]);
      await client.next('assign');
      await addJobs(storage, 2, { queue });
      await waitFor(() => client.assigned.length === 2, { describe: 'two pushed jobs', deadlineMs });
      await addJobs(storage, 2, { queue });
      // Written before the push was heard, by a worker with two slots.
      const re = client.want([client.take(2, { queues: [queue] })], { after: 1 });
      expect((await client.next('assign', (message) => message.re === re)).jobs).toEqual([]);
      const after = client.want([client.take(1, { queues: [queue] })]);
      expect((await client.next('assign', (message) => message.re === after)).jobs).toHaveLength(1);
    });

    it('gives an assignment that never arrived back at the next hello, and keeps what the worker names', async () => {
      const [first = '', second = ''] = await addJobs(storage, 2, { queue });
      const client = await join();
      client.want([client.take(2, { queues: [queue] })]);
      await waitFor(() => client.assigned.length === 2, { describe: 'two jobs', deadlineMs });
      const [kept] = client.assigned;
      client.cut();
      await using again = await LinkClient.connect(stage.url, {
        id: client.id,
        incarnation: client.incarnation,
      });
      const lost = { id: crypto.randomUUID(), token: `${client.incarnation}f000000100000001` };
      const welcome = await again.hello({
        queues: [queue],
        held: [{ id: first, token: kept?.token ?? '' }, lost],
      });
      expect(welcome.held).toEqual([{ id: first, token: kept?.token, stopRequest: null }]);
      expect([await status(first), await status(second)]).toEqual(['processing', 'pending']);
      expect(await storage.job(second)).toMatchObject({ attempts: 0, deaths: 0 });
    });

    it('answers a settlement that comes again as it did the first time', async () => {
      await addJobs(storage, 1, { queue });
      await using client = await join();
      client.want([client.take(1, { queues: [queue] })]);
      await waitFor(() => client.assigned.length === 1, { describe: 'a job', deadlineMs });
      const results = client.assigned.map(completed);
      expect((await client.settle(results)).outcomes).toEqual(['done']);
      expect((await client.settle(results)).outcomes).toEqual(['done']);
    });

    it('settles nothing under the token of another worker', async () => {
      await addJobs(storage, 1, { queue });
      await using client = await join();
      await using thief = await join();
      client.want([client.take(1, { queues: [queue] })]);
      await waitFor(() => client.assigned.length === 1, { describe: 'a job', deadlineMs });
      const results = client.assigned.map(completed);
      expect((await thief.settle(results)).outcomes).toEqual(['lease-lost']);
      expect((await client.settle(results)).outcomes).toEqual(['done']);
    });

    it('renews and answers heartbeats with what is held', async () => {
      await addJobs(storage, 1, { queue });
      await using client = await join();
      client.want([client.take(1, { queues: [queue] })]);
      await waitFor(() => client.assigned.length === 1, { describe: 'a job', deadlineMs });
      const ack = await client.ask('beat-ack', { type: 'beat', status: client.status('DRAINING') });
      expect(ack.held.map(({ id }) => id)).toEqual(client.assigned.map(({ id }) => id));
      expect(await record(client.id)).toMatchObject({ state: 'DRAINING' });
    });

    it('lets the newest connection of a worker win, and nothing of the older one touches it', async () => {
      await using old = await join();
      await using young = await join({ id: old.id, incarnation: old.incarnation });
      expect(await old.closing()).toMatchObject({ code: 4409 });
      await young.ask('beat-ack', { type: 'beat', status: young.status() });
      expect(await record(young.id)).toMatchObject({ disconnectedForMs: null });
      await addJobs(storage, 1, { queue });
      young.want([young.take(1, { queues: [queue] })]);
      await waitFor(() => young.assigned.length === 1, { describe: 'a job for the newer one', deadlineMs });
    });

    it('gives a copy of a living worker an id of its own', async () => {
      await using one = await join();
      await using copy = await LinkClient.connect(stage.url, { id: one.id });
      const welcome = await copy.hello({ queues: [queue] });
      expect(welcome.workerId).not.toBe(one.id);
      expect(await record(one.id)).toMatchObject({ incarnation: one.incarnation });
      expect(await record(welcome.workerId)).toMatchObject({ incarnation: copy.incarnation });
    });

    it('takes back what an ended incarnation held, at once', async () => {
      const [id = ''] = await addJobs(storage, 1, { queue });
      const first = await join();
      first.want([first.take(1, { queues: [queue] })]);
      await waitFor(() => first.assigned.length === 1, { describe: 'a job', deadlineMs });
      first.cut();
      await using second = await LinkClient.connect(stage.url, { id: first.id });
      const welcome = await second.hello({ queues: [queue], ended: first.incarnation });
      expect(welcome.workerId).toBe(first.id);
      expect(await status(id)).toBe('pending');
      expect(await storage.job(id)).toMatchObject({ deaths: 1 });
    });

    it('notes a lost socket, and forgets that when the worker is back', async () => {
      const client = await join();
      client.cut();
      await waitFor(async () => (await record(client.id))?.disconnectedForMs !== null, {
        describe: 'the lost socket to be noted',
        deadlineMs,
      });
      await using again = await join({ id: client.id, incarnation: client.incarnation });
      expect(await record(again.id)).toMatchObject({ disconnectedForMs: null });
    });

    it('is told goodbye: gone at once, and closed with 1000', async () => {
      await using client = await join();
      await client.ask('goodbye-ack', { type: 'goodbye', status: client.status('EXIT') });
      expect(await client.closing()).toMatchObject({ code: 1000 });
      expect(await record(client.id)).toMatchObject({ gone: true, state: 'EXIT' });
    });

    it('pushes a stop to whoever runs the job within 2 s', async () => {
      const [id = ''] = await addJobs(storage, 1, { queue });
      await using client = await join();
      client.want([client.take(1, { queues: [queue] })]);
      await waitFor(() => client.assigned.length === 1, { describe: 'a job', deadlineMs });
      expect(await storage.cancel(id)).toBe('requested');
      const stop = await client.next('stop');
      expect(stop.leases).toEqual([{ id, token: client.assigned[0]?.token, stopRequest: 'cancel' }]);
    });

    it('pushes a drain, keeps it over a reconnect, and assigns nothing meanwhile', async () => {
      const client = await join();
      client.want([client.take(2, { queues: [queue] })]);
      await client.next('assign');
      await storage.changeWorker(client.id, { kind: 'admin-state', adminState: 'drain' }, auditOf(client.id));
      await client.next('orders', ({ adminState }) => adminState === 'drain');
      await addJobs(storage, 1, { queue });
      client.cut();
      await using again = await LinkClient.connect(stage.url, {
        id: client.id,
        incarnation: client.incarnation,
      });
      expect((await again.hello({ queues: [queue] })).adminState).toBe('drain');
      const re = again.want([again.take(1, { queues: [queue] })]);
      expect((await again.next('assign', (message) => message.re === re)).jobs).toEqual([]);
      await storage.changeWorker(
        client.id,
        { kind: 'admin-state', adminState: 'active' },
        auditOf(client.id),
      );
      await again.next('orders', ({ adminState }) => adminState === 'active');
      await waitFor(() => again.assigned.length === 1, { describe: 'the job after the drain', deadlineMs });
    });

    it('tells of paused queues and of a recycle that was asked for', async () => {
      await using client = await join();
      await storage.setPaused(queue, true);
      await client.next('orders', ({ paused }) => paused.includes(queue));
      await storage.setPaused(queue, false);
      await client.next('orders', ({ paused }) => !paused.includes(queue));
      await storage.changeWorker(client.id, { kind: 'recycle' }, auditOf(client.id));
      await client.next('orders', ({ recycleAsked }) => recycleAsked);
    });

    it('dispatches, looks, and answers what else is asked', async () => {
      await using client = await join();
      const job = newJob({ queue });
      const dispatch = { type: 'dispatch', jobs: [job] } as Parameters<typeof client.send>[0];
      expect((await client.ask('dispatched', dispatch)).outcomes).toEqual([
        { outcome: 'created', id: job.id },
      ]);
      expect((await client.ask('dispatched', dispatch)).outcomes).toEqual([
        { outcome: 'replayed', id: job.id },
      ]);
      const takes = [client.take(1, { queues: [queue] })];
      expect(await client.ask('seen', { type: 'look', takes })).toMatchObject({
        dueInMs: 0,
        aloneDue: false,
      });
      expect((await client.ask('queues', { type: 'ask-queues' })).queues).toContain(queue);
      expect(
        (await client.ask('backlog', { type: 'ask-backlog', queues: [queue], except: [] })).claimable,
      ).toBe(1);
      client.send({
        type: 'profile-notes',
        notes: [{ name: 'work', count: 1, totalMs: 5, maxRssBytes: null }],
      });
      await waitFor(
        async () =>
          (await client.ask('profiles', { type: 'ask-profiles', names: ['work'], windowMs: 60_000 })).profiles
            .length > 0,
        { describe: 'a profile', deadlineMs },
      );
    });

    it('marks jobs as started, and keeps what handlers wrote', async () => {
      const [id = ''] = await addJobs(storage, 1, { queue });
      await using client = await join();
      client.want([client.take(1, { queues: [queue], start: 0 })]);
      await waitFor(() => client.assigned.length === 1, { describe: 'a job', deadlineMs });
      const [job] = client.assigned;
      expect(job?.started).toBe(false);
      const leases = [{ id, token: job?.token ?? '' }];
      expect((await client.ask('started-ack', { type: 'started', leases })).lost).toEqual([]);
      const line = { id, token: job?.token ?? '', seq: 1, kind: 'log', level: 'info', text: 'half' } as const;
      client.send({ type: 'log', lines: [line] });
      await waitFor(async () => (await storage.log(id, { limit: 10 })).length === 1, {
        describe: 'the line to be kept',
        deadlineMs,
      });
    });

    it('hints at a job that must run alone to one worker, which then gets it alone', async () => {
      await using client = await join();
      await using other = await join();
      const [id = ''] = await addJobs(storage, 1, { queue });
      const takes = [client.take(1, { queues: [queue] })];
      client.want(takes);
      await waitFor(() => client.assigned.length === 1, { describe: 'a job', deadlineMs });
      const lease = client.assigned[0] ?? { id, token: '' };
      await client.settle([{ id, token: lease.token, kind: 'died', delayMs: 0, alone: true, errors: '[]' }]);
      client.want(takes);
      other.want(takes);
      await waitFor(() => client.all('lone').length + other.all('lone').length > 0, {
        describe: 'a hint',
        deadlineMs,
      });
      client.want(takes, { alone: true });
      await waitFor(() => client.assigned.length === 2, { describe: 'the job, alone', deadlineMs });
      expect(other.assigned).toEqual([]);
    });

    it('gives a quarter of the workers of one queue list their turn at once, at least one', async () => {
      await using first = await join();
      await using second = await join();
      expect((await first.ask('turn-answer', { type: 'turn', wanted: true })).granted).toBe(true);
      expect((await second.ask('turn-answer', { type: 'turn', wanted: true })).granted).toBe(false);
      expect((await first.ask('turn-answer', { type: 'turn', wanted: true })).granted).toBe(true);
      await first.ask('turn-answer', { type: 'turn', wanted: false });
      expect((await second.ask('turn-answer', { type: 'turn', wanted: true })).granted).toBe(true);
    });

    it('spreads ten jobs over fifty idle workers', async () => {
      const clients = await Promise.all(Array.from({ length: 50 }, () => join()));
      try {
        for (const client of clients) client.want([client.take(10, { queues: [queue] })]);
        await Promise.all(clients.map((client) => client.next('assign')));
        await addJobs(storage, 10, { queue });
        const given = (): number[] => clients.map(({ assigned }) => assigned.length);
        const sum = (): number => given().reduce((total, count) => total + count, 0);
        await waitFor(() => sum() === 10, { describe: () => `ten assigned jobs, not ${sum()}`, deadlineMs });
        expect(Math.max(...given())).toBe(1);
      } finally {
        for (const client of clients) await client[Symbol.asyncDispose]();
      }
    });

    it('gives nothing to a worker on standby while an active one has room', async () => {
      await using active = await join();
      await using standby = await join();
      await storage.changeWorker(
        standby.id,
        { kind: 'admin-state', adminState: 'standby' },
        auditOf(standby.id),
      );
      await standby.next('orders', ({ adminState }) => adminState === 'standby');
      for (const client of [standby, active]) client.want([client.take(2, { queues: [queue] })]);
      await Promise.all([standby, active].map((client) => client.next('assign')));
      await addJobs(storage, 3, { queue });
      await waitFor(() => active.assigned.length + standby.assigned.length === 3, {
        describe: 'three jobs',
        deadlineMs,
      });
      expect([active.assigned.length, standby.assigned.length]).toEqual([2, 1]);
    });
  });
}

function auditOf(target: string) {
  return { id: crypto.randomUUID(), actor: 'test', source: 'library', action: 'worker.change', target };
}
