import { expect, test } from 'vitest';
import type { HubRecord } from '../../src/storage/hub-record.js';
import type { WorkerRecord, WorkerReport } from '../../src/storage/worker-record.js';
import { hubReport } from '../support/hub-report.js';
import { workerReport } from '../support/worker-report.js';
import { DAY, expectAbout, MINUTE, SECOND, type Stage, sorted } from './stage.js';

const ALIVE = 120 * SECOND;

/** What hubs keep in the database: themselves, and the connections of their workers. */
export function hubsSuite(stage: Stage): void {
  const hub = async (id: string): Promise<HubRecord | undefined> =>
    (await stage.storage.hubs()).find((each) => each.id === id);
  const find = async (id: string): Promise<WorkerRecord | undefined> =>
    (await stage.storage.workers()).find((worker) => worker.id === id);
  const report = (with_: Partial<WorkerReport> = {}): WorkerReport =>
    workerReport({
      ...{ id: stage.queue(), incarnation: stage.incarnation(), link: 'hub', hubId: 'hub-1' },
      ...with_,
    });
  /** Registers it and answers its epoch. */
  const connect = async (mine: WorkerReport): Promise<number> => {
    const { outcome, epoch } = await stage.storage.register(mine, ALIVE);
    expect(outcome).toBe('registered');
    return epoch;
  };

  test('a hub is shown as it told, with its start and its silence', async () => {
    const now = await stage.storage.now();
    const mine = hubReport({
      id: stage.queue(),
      advertiseUrl: 'http://10.0.0.7:8000',
      details: { x: [1, 'ü'] },
    });
    await stage.storage.hubBeat(mine);
    stage.advance(MINUTE);
    expect(await hub(mine.id)).toMatchObject(mine);
    expectAbout((await hub(mine.id))?.silentForMs, MINUTE);
    await stage.storage.hubBeat({ ...mine, connections: 12 });
    const after = await hub(mine.id);
    expect(after).toMatchObject({ ...mine, connections: 12 });
    expectAbout(after?.silentForMs, 0);
    expectAbout(after?.startedAtMs, now);
    expectAbout(after?.heartbeatAtMs, now + MINUTE);
  });

  test('a hub that goes is shown no more, and the others are', async () => {
    const [one, two] = [hubReport({ id: stage.queue() }), hubReport({ id: stage.queue() })];
    for (const each of [one, two]) await stage.storage.hubBeat(each);
    await stage.storage.removeHub(one.id);
    await stage.storage.removeHub(one.id);
    expect(await hub(one.id)).toBeUndefined();
    expect(await hub(two.id)).toMatchObject(two);
  });

  test('hubs silent for a day are left out and swept; one that was heard since is not', async () => {
    const [silent, heard] = [hubReport({ id: stage.queue() }), hubReport({ id: stage.queue() })];
    for (const each of [silent, heard]) await stage.storage.hubBeat(each);
    stage.advance(DAY / 2);
    await stage.storage.hubBeat(heard);
    stage.advance(DAY / 2 + MINUTE);
    expect(await hub(silent.id)).toBeUndefined();
    expect(await hub(heard.id)).toMatchObject(heard);
    expect(await stage.storage.purgeTraces({ olderThanMs: 30 * DAY, limit: 1_000 })).toBeGreaterThan(0);
    // Had it only been hidden, it would keep the start it had.
    await stage.storage.hubBeat(silent);
    expectAbout((await hub(silent.id))?.startedAtMs, await stage.storage.now());
    expect(await hub(heard.id)).toMatchObject(heard);
  });

  test('each registration counts the epoch up, of whatever incarnation', async () => {
    const mine = report();
    const first = await connect(mine);
    expect(first).toBeGreaterThan(0);
    expect(await connect(mine)).toBe(first + 1);
    await stage.storage.unregister(mine.id, mine.incarnation);
    expect(await connect({ ...mine, incarnation: stage.incarnation() })).toBe(first + 2);
    expect(await find(mine.id)).toMatchObject({ connectionEpoch: first + 2, hubId: 'hub-1', link: 'hub' });
  });

  test('a registration that is refused tells the epoch of the one that stands', async () => {
    const mine = report();
    const epoch = await connect(mine);
    const clone = report({ id: mine.id });
    expect(await stage.storage.register(clone, ALIVE)).toEqual({
      ...{ outcome: 'taken', adminState: 'active', epoch },
    });
    expect(await find(mine.id)).toMatchObject({ connectionEpoch: epoch });
  });

  test('two registrations at once get two epochs', async () => {
    await using other = await stage.another();
    const mine = report();
    const epochs = await Promise.all([
      ...[stage.storage, other.storage, stage.storage, other.storage].map(
        async (storage) => (await storage.register(mine, ALIVE)).epoch,
      ),
    ]);
    expect(new Set(epochs).size).toBe(4);
    expect(await find(mine.id)).toMatchObject({ connectionEpoch: Math.max(...epochs) });
  });

  test('the epoch rises across a time when the worker was forgotten', async () => {
    const mine = report();
    await connect(mine);
    const last = await connect(mine);
    stage.advance(5 * MINUTE);
    expect(await stage.storage.forgetSilent(mine.id, (await find(mine.id))?.heartbeatAtMs ?? 0)).toBe(true);
    expect(await connect(mine)).toBeGreaterThan(last);
  });

  test('a heartbeat of an older epoch changes nothing and says so', async () => {
    const mine = report();
    const older = await connect(mine);
    const newer = await connect({ ...mine, hubId: 'hub-2' });
    stage.advance(MINUTE);
    expect(await stage.storage.heartbeat({ ...mine, jobsDone: 9 }, older)).toEqual({
      ...{ outcome: 'superseded', adminState: 'active' },
    });
    const seen = await find(mine.id);
    expect(seen).toMatchObject({ jobsDone: 0, hubId: 'hub-2', connectionEpoch: newer });
    expectAbout(seen?.silentForMs, MINUTE);
    expect(await stage.storage.heartbeat({ ...mine, jobsDone: 9 }, newer)).toMatchObject({ outcome: 'ok' });
    expect(await find(mine.id)).toMatchObject({ jobsDone: 9, connectionEpoch: newer });
  });

  test('a heartbeat with the right epoch of another incarnation is unknown, as is one after the goodbye', async () => {
    const mine = report();
    const epoch = await connect(mine);
    const other = { ...mine, incarnation: stage.incarnation() };
    expect(await stage.storage.heartbeat(other, epoch)).toMatchObject({ outcome: 'unknown' });
    await stage.storage.unregister(mine.id, mine.incarnation);
    expect(await stage.storage.heartbeat(mine, epoch)).toMatchObject({ outcome: 'unknown' });
  });

  test('a lost socket is noted with its time, and the first note counts', async () => {
    const mine = report();
    const epoch = await connect(mine);
    expect((await find(mine.id))?.disconnectedForMs).toBeNull();
    expect(await stage.storage.noteDisconnected(mine.id, mine.incarnation, epoch)).toBe(true);
    stage.advance(MINUTE);
    expect(await stage.storage.noteDisconnected(mine.id, mine.incarnation, epoch)).toBe(true);
    expectAbout((await find(mine.id))?.disconnectedForMs, MINUTE);
  });

  test('a heartbeat forgets a lost socket, and so does a registration', async () => {
    const mine = report();
    const epoch = await connect(mine);
    await stage.storage.noteDisconnected(mine.id, mine.incarnation, epoch);
    expect(await stage.storage.heartbeat(mine, epoch)).toMatchObject({ outcome: 'ok' });
    expect((await find(mine.id))?.disconnectedForMs).toBeNull();
    await stage.storage.noteDisconnected(mine.id, mine.incarnation, epoch);
    await connect(mine);
    expect((await find(mine.id))?.disconnectedForMs).toBeNull();
  });

  test('a late note of an older epoch touches nothing', async () => {
    const mine = report();
    const older = await connect(mine);
    const newer = await connect(mine);
    expect(await stage.storage.noteDisconnected(mine.id, mine.incarnation, older)).toBe(false);
    expect(await stage.storage.noteDisconnected(mine.id, stage.incarnation(), newer)).toBe(false);
    expect(await stage.storage.noteDisconnected(stage.queue(), mine.incarnation, newer)).toBe(false);
    expect((await find(mine.id))?.disconnectedForMs).toBeNull();
    await stage.storage.unregister(mine.id, mine.incarnation);
    expect(await stage.storage.noteDisconnected(mine.id, mine.incarnation, newer)).toBe(false);
  });

  test('the orders of a fleet name whom operators want something of, and the paused queues', async () => {
    const [plain, drained, asked] = [report(), report(), report()];
    for (const each of [plain, drained, asked]) await connect(each);
    const entry = (target: string) => ({
      ...{ id: crypto.randomUUID(), actor: 'me', action: 'worker', target, source: 'test' },
    });
    await stage.storage.changeWorker(
      drained.id,
      { kind: 'admin-state', adminState: 'drain' },
      entry(drained.id),
    );
    await stage.storage.changeWorker(asked.id, { kind: 'recycle' }, entry(asked.id));
    await stage.storage.setPaused(plain.id, true);
    const { workers, paused } = await stage.storage.fleetOrders();
    const mine = new Set([plain.id, drained.id, asked.id]);
    expect(workers.filter(({ id }) => mine.has(id))).toEqual(
      [
        { id: drained.id, adminState: 'drain', recycleAsked: false },
        { id: asked.id, adminState: 'active', recycleAsked: true },
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    expect(paused).toContain(plain.id);
    expect(paused).toEqual(sorted(paused));
  });

  test('the orders of a fleet keep what was wanted of a worker that has been forgotten', async () => {
    const mine = report();
    await connect(mine);
    const entry = { id: crypto.randomUUID(), actor: 'me', action: 'a', target: mine.id, source: 'test' };
    await stage.storage.changeWorker(mine.id, { kind: 'admin-state', adminState: 'standby' }, entry);
    await stage.storage.forgetSilent(mine.id, (await find(mine.id))?.heartbeatAtMs ?? 0);
    const { workers } = await stage.storage.fleetOrders();
    expect(workers.filter(({ id }) => id === mine.id)).toEqual([
      { id: mine.id, adminState: 'standby', recycleAsked: false },
    ]);
  });

  test('stop requests are those of the incarnations that were asked for', async () => {
    const queue = stage.queue();
    const [mine, other] = [stage.incarnation(), stage.incarnation()];
    const asked = await stage.running(queue, {}, { token: stage.token(mine) });
    const second = await stage.running(queue, {}, { token: stage.token(mine) });
    await stage.running(queue, {}, { token: stage.token(mine) });
    const others = await stage.running(queue, {}, { token: stage.token(other) });
    await stage.storage.cancel(asked.id);
    await stage.storage.delete(second.id);
    await stage.storage.bury(others.id);
    const found = await stage.storage.stopRequests([stage.incarnation(), mine]);
    expect([...found].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { id: asked.id, token: asked.token, stopRequest: 'cancel' },
      { id: second.id, token: second.token, stopRequest: 'delete' },
    ]);
    expect(await stage.storage.stopRequests([])).toEqual([]);
    await stage.settle(asked, { kind: 'completed', result: null });
    expect((await stage.storage.stopRequests([mine])).map(({ id }) => id)).toEqual([second.id]);
  });
}
