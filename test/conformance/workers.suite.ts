import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { AuditEntry, NewAuditEntry } from '../../src/storage/audit.js';
import type { WorkerChange, WorkerRecord, WorkerReport } from '../../src/storage/worker-record.js';
import { workerReport } from '../support/worker-report.js';
import { DAY, expectAbout, HOUR, MINUTE, SECOND, type Stage } from './stage.js';

const ALIVE = 120 * SECOND;

export function workersSuite(stage: Stage): void {
  const report = (with_: Partial<WorkerReport> = {}): WorkerReport =>
    workerReport({
      id: stage.queue(),
      incarnation: stage.incarnation(),
      state: 'STARTING',
      queues: ['critical', 'default'],
      handlers: ['work', 'a/b:c'],
      ...with_,
    });
  const find = async (id: string): Promise<WorkerRecord | undefined> =>
    (await stage.storage.workers()).find((worker) => worker.id === id);

  test('a registration is shown as it was reported', async () => {
    const now = await stage.storage.now();
    const mine = report({
      details: { memoryMb: 81.5, lanes: [{ kind: 'inline', busy: true }], note: 'ü 😀', none: null },
    });
    expect(await stage.storage.register(mine, ALIVE)).toMatchObject({
      outcome: 'registered',
      adminState: 'active',
    });
    const worker = await find(mine.id);
    expect(worker).toMatchObject({ ...mine, adminState: 'active', gone: false });
    expectAbout(worker?.startedAtMs, now);
    expectAbout(worker?.heartbeatAtMs, now);
    expectAbout(worker?.silentForMs, 0);
  });

  test('a heartbeat refreshes everything but the start', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    const { startedAtMs } = (await find(mine.id)) ?? {};
    stage.advance(MINUTE);
    expectAbout((await find(mine.id))?.silentForMs, MINUTE);
    const later = {
      ...mine,
      state: 'RUNNING',
      running: 3,
      jobsDone: 12_345,
      queues: ['low'],
      details: { x: [1] },
    };
    expect(await stage.storage.heartbeat(later)).toEqual({ outcome: 'ok', adminState: 'active' });
    const worker = await find(mine.id);
    expect(worker).toMatchObject({ ...later, startedAtMs });
    expectAbout(worker?.heartbeatAtMs, await stage.storage.now());
  });

  test('a registration that is repeated stands once and keeps its start', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    const first = await find(mine.id);
    stage.advance(MINUTE);
    expect(await stage.storage.register({ ...mine, state: 'RUNNING' }, ALIVE)).toMatchObject({
      outcome: 'registered',
    });
    const all = (await stage.storage.workers()).filter(({ id }) => id === mine.id);
    expect(all).toMatchObject([{ state: 'RUNNING', startedAtMs: first?.startedAtMs }]);
  });

  test('an id that another live incarnation holds is taken, and its registration is untouched', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    const clone = { ...mine, incarnation: stage.incarnation(), pid: 1 };
    expect(await stage.storage.register(clone, ALIVE)).toMatchObject({ outcome: 'taken' });
    expect(await find(mine.id)).toMatchObject({ incarnation: mine.incarnation, pid: 4_711 });
    expect(await stage.storage.heartbeat(clone)).toMatchObject({ outcome: 'unknown' });
    expect(await stage.storage.heartbeat(mine)).toMatchObject({ outcome: 'ok' });
  });

  test('an id is free again when its holder has been silent long enough or said goodbye', async () => {
    const silent = report();
    await stage.storage.register(silent, ALIVE);
    stage.advance(ALIVE + SECOND);
    const next = { ...silent, incarnation: stage.incarnation() };
    expect(await stage.storage.register(next, ALIVE)).toMatchObject({ outcome: 'registered' });
    await stage.storage.unregister(next.id, next.incarnation);
    const last = { ...silent, incarnation: stage.incarnation() };
    expect(await stage.storage.register(last, ALIVE)).toMatchObject({ outcome: 'registered' });
    expect(await find(silent.id)).toMatchObject({ incarnation: last.incarnation, gone: false });
    expectAbout((await find(silent.id))?.startedAtMs, await stage.storage.now());
  });

  test('a heartbeat of a superseded incarnation is unknown and changes nothing', async () => {
    const old = report();
    await stage.storage.register(old, ALIVE);
    stage.advance(ALIVE + SECOND);
    const present = { ...old, incarnation: stage.incarnation(), state: 'RUNNING' };
    await stage.storage.register(present, ALIVE);
    expect(await stage.storage.heartbeat({ ...old, state: 'DRAINING' })).toMatchObject({
      outcome: 'unknown',
    });
    await stage.storage.unregister(old.id, old.incarnation);
    expect(await find(old.id)).toMatchObject({
      incarnation: present.incarnation,
      state: 'RUNNING',
      gone: false,
    });
  });

  test('a heartbeat of a worker that never registered is unknown', async () => {
    const stranger = report();
    expect(await stage.storage.heartbeat(stranger)).toEqual({ outcome: 'unknown', adminState: 'active' });
    expect(await find(stranger.id)).toBeUndefined();
  });

  test('a goodbye is shown, and a heartbeat after it is unknown', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    await stage.storage.unregister(mine.id, mine.incarnation);
    expect(await find(mine.id)).toMatchObject({ gone: true });
    expect(await stage.storage.heartbeat(mine)).toMatchObject({ outcome: 'unknown' });
    expect(await find(mine.id)).toMatchObject({ gone: true });
    await stage.storage.unregister(mine.id, mine.incarnation);
    expect(await stage.storage.register(mine, ALIVE)).toMatchObject({ outcome: 'registered' });
    expect(await find(mine.id)).toMatchObject({ gone: false });
  });

  test('two clones that register at the same instant: one has the id', async () => {
    await using other = await stage.another();
    for (let round = 0; round < 8; round += 1) {
      const one = report();
      const two = { ...one, incarnation: stage.incarnation() };
      const answers = await Promise.all([
        stage.storage.register(one, ALIVE),
        other.storage.register(two, ALIVE),
      ]);
      expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['registered', 'taken']);
      const winner = answers[0].outcome === 'registered' ? one : two;
      expect(await find(one.id)).toMatchObject({ incarnation: winner.incarnation });
    }
  });

  test('ids are told apart by case', async () => {
    const lower = report({ id: `${stage.queue()}-w` });
    const upper = report({ id: lower.id.toUpperCase() });
    for (const one of [lower, upper])
      expect(await stage.storage.register(one, ALIVE)).toMatchObject({ outcome: 'registered' });
    expect((await find(lower.id))?.incarnation).toBe(lower.incarnation);
  });

  test('workers whose last word is a day old are forgotten, others kept', async () => {
    const [silent, gone, alive] = [report(), report(), report()];
    for (const one of [silent, gone, alive]) await stage.storage.register(one, ALIVE);
    stage.advance(DAY - HOUR);
    await stage.storage.unregister(gone.id, gone.incarnation);
    await stage.storage.heartbeat(alive);
    stage.advance(2 * HOUR);
    await stage.storage.purgeTraces({ olderThanMs: 30 * DAY, limit: 1_000 });
    expect(await find(silent.id)).toBeUndefined();
    expect(await find(gone.id)).toMatchObject({ gone: true });
    expect(await find(alive.id)).toMatchObject({ gone: false });
    stage.advance(DAY);
    await stage.storage.heartbeat(alive);
    await stage.storage.purgeTraces({ olderThanMs: 30 * DAY, limit: 1_000 });
    expect(await find(gone.id)).toBeUndefined();
  });

  test('an incarnation that is known to be over is replaced at once, and only that one', async () => {
    const old = report();
    await stage.storage.register(old, ALIVE);
    const next = { ...old, incarnation: stage.incarnation() };
    expect(await stage.storage.register(next, ALIVE, stage.incarnation())).toMatchObject({
      outcome: 'taken',
    });
    expect(await stage.storage.register(next, ALIVE, old.incarnation)).toMatchObject({
      outcome: 'registered',
    });
    expect(await stage.storage.heartbeat(old)).toMatchObject({ outcome: 'unknown' });
    expect(await find(old.id)).toMatchObject({ incarnation: next.incarnation, gone: false });
  });

  const deed = (id: string): NewAuditEntry => ({
    id: uuidv7(),
    actor: 'ada@host ü',
    action: 'worker.change',
    target: id,
    source: 'cli',
  });
  const change = (id: string, with_: WorkerChange): Promise<string> =>
    stage.storage.changeWorker(id, with_, deed(id));
  const drain = { kind: 'admin-state', adminState: 'drain' } as const;
  const activate = { kind: 'admin-state', adminState: 'active' } as const;

  test('what operators want of a worker reaches it, and outlives reconnects, restarts and silence', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    expect(await stage.storage.orders(mine.id)).toMatchObject({ adminState: 'active', recycleAsked: false });
    expect(await change(mine.id, drain)).toBe('done');
    expect(await stage.storage.orders(mine.id)).toMatchObject({ adminState: 'drain' });
    expect(await stage.storage.heartbeat(mine)).toEqual({ outcome: 'ok', adminState: 'drain' });
    expect(await stage.storage.register(mine, ALIVE)).toMatchObject({ adminState: 'drain' });
    await stage.storage.unregister(mine.id, mine.incarnation);
    stage.advance(2 * DAY);
    await stage.storage.purgeTraces({ olderThanMs: 30 * DAY, limit: 1_000 });
    expect(await find(mine.id)).toBeUndefined();
    expect(await stage.storage.orders(mine.id)).toMatchObject({ adminState: 'drain' });
    const next = { ...mine, incarnation: stage.incarnation() };
    expect(await stage.storage.register(next, ALIVE)).toMatchObject({
      outcome: 'registered',
      adminState: 'drain',
    });
    expect(await find(mine.id)).toMatchObject({ adminState: 'drain', gone: false });
    expect(await change(mine.id, activate)).toBe('done');
    expect(await stage.storage.orders(mine.id)).toMatchObject({ adminState: 'active' });
  });

  test('what operators wanted of a forgotten worker can be taken back', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    await change(mine.id, { kind: 'admin-state', adminState: 'standby' });
    const { heartbeatAtMs = 0 } = (await find(mine.id)) ?? {};
    expect(await stage.storage.forgetSilent(mine.id, heartbeatAtMs)).toBe(true);
    expect(await change(mine.id, { kind: 'recycle' })).toBe('not-found');
    expect(await stage.storage.orders(mine.id)).toMatchObject({ adminState: 'standby' });
    expect(await change(mine.id, activate)).toBe('done');
    expect(await stage.storage.orders(mine.id)).toMatchObject({ adminState: 'active' });
    expect(await change(stage.queue(), activate)).toBe('not-found');
  });

  test('a recycle is asked of one incarnation', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    expect(await change(mine.id, { kind: 'recycle' })).toBe('done');
    expect(await stage.storage.orders(mine.id)).toMatchObject({ recycleAsked: true });
    expect(await find(mine.id)).toMatchObject({ recycleAsked: true });
    await stage.storage.register(mine, ALIVE);
    expect(await stage.storage.orders(mine.id)).toMatchObject({ recycleAsked: true });
    await stage.storage.unregister(mine.id, mine.incarnation);
    await stage.storage.register({ ...mine, incarnation: stage.incarnation() }, ALIVE);
    expect(await stage.storage.orders(mine.id)).toMatchObject({ recycleAsked: false });
    expect(await change(stage.queue(), { kind: 'recycle' })).toBe('not-found');
  });

  test('orders tell of paused queues', async () => {
    const [one, two] = [stage.queue(), stage.queue()];
    await stage.storage.setPaused(one, true);
    await stage.storage.setPaused(two, true);
    const { paused } = await stage.storage.orders('nobody');
    expect(paused).toEqual(await stage.storage.pausedQueues());
    expect(paused).toEqual(expect.arrayContaining([one, two]));
    for (const queue of [one, two]) await stage.storage.setPaused(queue, false);
  });

  test('a worker that lives is not forgotten; a silent one and one that said goodbye are, admin state and all', async () => {
    const [live, silent, gone] = [report(), report(), report()];
    const forget = (id: string) => change(id, { kind: 'forget', silentForMs: ALIVE });
    for (const one of [live, silent, gone]) {
      await stage.storage.register(one, ALIVE);
      await change(one.id, drain);
    }
    expect(await forget(silent.id)).toBe('alive');
    stage.advance(ALIVE + SECOND);
    await stage.storage.heartbeat(live);
    await stage.storage.unregister(gone.id, gone.incarnation);
    expect([await forget(live.id), await forget(silent.id), await forget(gone.id)]).toEqual([
      'alive',
      'done',
      'done',
    ]);
    expect(await find(live.id)).toMatchObject({ adminState: 'drain' });
    for (const { id } of [silent, gone]) {
      expect(await find(id)).toBeUndefined();
      expect(await stage.storage.orders(id)).toMatchObject({ adminState: 'active' });
      expect(await forget(id)).toBe('not-found');
    }
  });

  test('a registration is forgotten only by the last word that was seen of it', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    const { heartbeatAtMs = 0 } = (await find(mine.id)) ?? {};
    stage.advance(ALIVE);
    await stage.storage.heartbeat(mine);
    expect(await stage.storage.forgetSilent(mine.id, heartbeatAtMs)).toBe(false);
    const again = (await find(mine.id))?.heartbeatAtMs ?? 0;
    expect(again).toBeGreaterThan(heartbeatAtMs);
    expect(await stage.storage.forgetSilent(mine.id, again)).toBe(true);
    expect(await stage.storage.forgetSilent(mine.id, again)).toBe(false);
    expect(await find(mine.id)).toBeUndefined();
    expect(await stage.storage.heartbeat(mine)).toMatchObject({ outcome: 'unknown' });
    expect(await stage.storage.register(mine, ALIVE)).toMatchObject({ outcome: 'registered' });
  });

  test('every deed of an operator is written with its outcome, once, and read from the newest on', async () => {
    const mine = report();
    await stage.storage.register(mine, ALIVE);
    const deeds: NewAuditEntry[] = [];
    const outcomes: string[] = [];
    for (const [id, with_] of [
      [mine.id, drain],
      [mine.id, { kind: 'forget', silentForMs: ALIVE }],
      [stage.queue(), drain],
    ] as const) {
      const one = deed(id);
      deeds.push(one);
      outcomes.push(await stage.storage.changeWorker(id, with_, one));
      // The answer was lost, and it is done again.
      await stage.storage.changeWorker(id, with_, one);
      stage.advance(SECOND);
    }
    expect(outcomes).toEqual(['done', 'alive', 'not-found']);
    const mineOf = (entries: readonly AuditEntry[]) =>
      entries.filter(({ id }) => deeds.some((one) => one.id === id));
    const read = mineOf(await stage.storage.audit({ limit: 100 }));
    expect(read.map(({ atMs: _at, ...entry }) => entry)).toEqual(
      deeds.map((one, index) => ({ ...one, result: outcomes[index] })).reverse(),
    );
    const paged: AuditEntry[] = [];
    for (let after: AuditEntry | undefined; ; ) {
      const page = await stage.storage.audit({ limit: 2, ...(after === undefined ? {} : { after }) });
      paged.push(...page);
      after = page.at(-1);
      if (page.length < 2) break;
    }
    expect(mineOf(paged)).toEqual(read);
    stage.advance(500 * DAY);
    await stage.storage.purgeTraces({ olderThanMs: 30 * DAY, limit: 1_000 });
    expect(mineOf(await stage.storage.audit({ limit: 100 }))).toEqual([]);
  });

  test('a duty has one holder, who may extend it', async () => {
    const duty = stage.queue();
    expect(await stage.storage.takeDuty(duty, 'a', MINUTE)).toBe(true);
    expect(await stage.storage.takeDuty(duty, 'b', MINUTE)).toBe(false);
    stage.advance(40 * SECOND);
    expect(await stage.storage.takeDuty(duty, 'a', MINUTE)).toBe(true);
    stage.advance(40 * SECOND);
    expect(await stage.storage.takeDuty(duty, 'b', MINUTE)).toBe(false);
    expect(await stage.storage.takeDuty(`${duty}-2`, 'b', MINUTE)).toBe(true);
  });

  test('a duty whose time is over goes to the next, and its old holder can neither extend nor release it', async () => {
    const duty = stage.queue();
    await stage.storage.takeDuty(duty, 'a', MINUTE);
    stage.advance(2 * MINUTE);
    expect(await stage.storage.takeDuty(duty, 'b', MINUTE)).toBe(true);
    expect(await stage.storage.takeDuty(duty, 'a', MINUTE)).toBe(false);
    await stage.storage.releaseDuty(duty, 'a');
    expect(await stage.storage.takeDuty(duty, 'a', MINUTE)).toBe(false);
    await stage.storage.releaseDuty(duty, 'b');
    expect(await stage.storage.takeDuty(duty, 'a', MINUTE)).toBe(true);
  });

  test('of many who want a duty at the same instant one gets it', async () => {
    await using other = await stage.another();
    const duty = stage.queue();
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 ? stage.storage : other.storage).takeDuty(duty, `h-${round}-${index}`, MINUTE),
        ),
      );
      expect(answers.filter((took) => took)).toHaveLength(1);
      stage.advance(2 * MINUTE);
    }
  });
}
