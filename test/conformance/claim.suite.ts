import { expect, test } from 'vitest';
import { done, expectAbout, failure, HOUR, LEASE, MINUTE, type Stage, sorted } from './stage.js';

export function claimSuite(stage: Stage): void {
  test('a claimed job is processing under its lease and carries all a handler needs', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue, { payload: '{"deep":{"er":[null]}}', priority: 20, maxAttempts: 5 });
    const before = await stage.record(id);
    const now = await stage.storage.now();
    const token = stage.token();
    const claimed = await stage.claim(queue, { token, workerId: 'w-7f3a' });
    expect(claimed).toEqual([
      {
        id,
        token,
        name: 'work',
        queue,
        payload: '{"deep":{"er":[null]}}',
        version: 1,
        priority: 20,
        attempts: 0,
        maxAttempts: 5,
        deaths: 0,
        lapses: 0,
        started: true,
        errors: null,
        createdAtMs: before.createdAtMs,
        dueAtMs: before.dueAtMs,
        limit: null,
        cost: 1,
        requires: [],
      },
    ]);
    const record = await stage.record(id);
    expect(record).toMatchObject({
      status: 'processing',
      workerId: 'w-7f3a',
      started: true,
      stopRequest: null,
    });
    expectAbout(record.claimedAtMs, now);
    expectAbout(record.leaseUntilMs, now + LEASE);
  });

  test('priority goes first, then due time, then id', async () => {
    const queue = stage.queue();
    const now = await stage.storage.now();
    const at = (ms: number) => ({ atMs: now - HOUR + ms });
    const late = await stage.add(queue, { due: at(2_000) });
    const tieOne = await stage.add(queue, { due: at(1_000) });
    const tieTwo = await stage.add(queue, { due: at(1_000) });
    const low = await stage.add(queue, { priority: -100, due: at(0) });
    const urgent = await stage.add(queue, { priority: 100, due: at(3_000) });
    const high = await stage.add(queue, { priority: 10, due: at(3_001) });
    expect(await stage.claimIds(queue)).toEqual([urgent, high, tieOne, tieTwo, late, low]);
  });

  test('one job at a time comes in the same order as all at once', async () => {
    const queue = stage.queue();
    const ids: string[] = [];
    for (const priority of [0, 5, -5, 5, 0]) ids.push(await stage.add(queue, { priority }));
    const seen: string[] = [];
    for (let index = 0; index < 5; index += 1) seen.push((await stage.claimOne(queue)).id);
    expect(seen).toEqual([ids[1], ids[3], ids[0], ids[4], ids[2]]);
    expect(await stage.claim(queue)).toEqual([]);
  });

  test('a job is not claimed before its time, and is after it', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue, { due: { inMs: HOUR } });
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(HOUR - MINUTE);
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(2 * MINUTE);
    expect(await stage.claimIds(queue)).toEqual([id]);
  });

  test('urgent jobs that are not due yet hide no job of any priority', async () => {
    const queue = stage.queue();
    for (const priority of [100, 50, 0]) await stage.addMany(queue, 300, { priority, due: { inMs: HOUR } });
    const due = await stage.add(queue, { priority: 50 });
    const low = await stage.add(queue, { priority: -100 });
    expect(await stage.claimIds(queue, { limit: 10 })).toEqual([due, low]);
  });

  test('jobs of unknown names are left alone and hide nothing', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 500, { name: 'unknown', priority: 50 });
    const [first, second] = [
      await stage.add(queue, { name: 'a/b:c' }),
      await stage.add(queue, { name: 'x' }),
    ];
    expect(await stage.claimIds(queue, { names: ['a/b:c', 'x', 'never-seen'], limit: 10 })).toEqual([
      first,
      second,
    ]);
    expect((await stage.stats(queue)).pending).toBe(500);
  });

  test('jobs of several names come in one order', async () => {
    const queue = stage.queue();
    const ids: string[] = [];
    for (const [name, priority] of [
      ['a', 0],
      ['b', 1],
      ['a', 2],
      ['b', 0],
      ['c', 3],
    ] as const) {
      ids.push(await stage.add(queue, { name, priority }));
    }
    expect(await stage.claimIds(queue, { names: ['b', 'a'], limit: 3 })).toEqual([ids[2], ids[1], ids[0]]);
    expect(await stage.claimIds(queue, { names: ['c', 'b', 'a'], limit: 3 })).toEqual([ids[4], ids[3]]);
  });

  test('a worker without handlers or queues gets nothing', async () => {
    const queue = stage.queue();
    await stage.add(queue);
    expect(await stage.claim(queue, { names: [] })).toEqual([]);
    expect(await stage.claim([])).toEqual([]);
  });

  test('names and queues are told apart by case', async () => {
    const queue = `${stage.queue()}-q`;
    const id = await stage.add(queue, { name: 'Work' });
    expect(await stage.claim(queue, { names: ['work', 'WORK'] })).toEqual([]);
    expect(await stage.claim(queue.toUpperCase(), { names: ['Work'] })).toEqual([]);
    expect(await stage.claimIds(queue, { names: ['Work'] })).toEqual([id]);
  });

  test('queues are isolated', async () => {
    const [mine, other] = [stage.queue(), stage.queue()];
    await stage.add(other);
    const id = await stage.add(mine);
    expect(await stage.claimIds(mine)).toEqual([id]);
  });

  test('an earlier queue is emptied before a later one, whatever the priorities', async () => {
    const [critical, normal, low] = [stage.queue(), stage.queue(), stage.queue()];
    const urgentButLow = await stage.add(low, { priority: 100 });
    const plain = await stage.addMany(normal, 2);
    const later = await stage.add(critical, { priority: -100 });
    const sooner = await stage.add(critical, { priority: 1 });
    const delayed = await stage.add(critical, { priority: 100, due: { inMs: HOUR } });
    const order = [critical, normal, low];
    expect(await stage.claimIds(order, { limit: 3 })).toEqual([sooner, later, plain[0]]);
    stage.advance(2 * HOUR);
    expect(await stage.claimIds(order, { limit: 10 })).toEqual([delayed, plain[1], urgentButLow]);
  });

  test('a queue named twice is one queue', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 3);
    expect(await stage.claimIds([queue, queue], { limit: 10 })).toEqual(ids);
  });

  test('a paused queue is skipped, and resumes where it was', async () => {
    const [paused, open] = [stage.queue(), stage.queue()];
    const waiting = await stage.add(paused);
    const other = await stage.add(open);
    await stage.storage.setPaused(paused, true);
    expect(await stage.claimIds([paused, open])).toEqual([other]);
    await stage.storage.setPaused(paused, false);
    expect(await stage.claimIds([paused, open])).toEqual([waiting]);
  });

  test('no more are taken than asked for', async () => {
    const [first, second] = [stage.queue(), stage.queue()];
    await stage.addMany(first, 3);
    await stage.addMany(second, 3);
    expect(await stage.claim([first, second], { limit: 4 })).toHaveLength(4);
    expect(await stage.claim([first, second], { limit: 4 })).toHaveLength(2);
  });

  test('the first jobs are marked started, the buffered rest is not', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 4);
    const claimed = await stage.claim(queue, { limit: 4, start: 2 });
    expect(claimed.map(({ started }) => started)).toEqual([true, true, false, false]);
    const records = await Promise.all(claimed.map(({ id }) => stage.record(id)));
    expect(records.map(({ started }) => started)).toEqual([true, true, false, false]);
  });

  test('the first jobs over all queues are the started ones', async () => {
    const [first, second] = [stage.queue(), stage.queue()];
    const one = await stage.add(first);
    const two = await stage.add(second, { priority: 100 });
    const claimed = await stage.claim([first, second], { start: 1 });
    expect(claimed.map(({ id, started }) => [id, started])).toEqual([
      [one, true],
      [two, false],
    ]);
  });

  test('a claim may start none', async () => {
    const queue = stage.queue();
    await stage.add(queue);
    expect(await stage.claim(queue, { start: 0 })).toMatchObject([{ started: false }]);
  });

  test('a repeat of a claim whose answer was lost returns what it took, and takes no more', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 6);
    const request = stage.request(queue, { limit: 4, start: 2 });
    const first = await stage.storage.claim(request);
    const again = await stage.storage.claim(request);
    expect(sortedById(again)).toEqual(sortedById(first));
    expect((await stage.stats(queue)).claimable).toBe(2);
  });

  test('a repeat of a claim leaves out what is no longer held', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 3);
    const request = stage.request(queue, { limit: 3 });
    const [one, two, three] = await stage.storage.claim(request);
    if (!one || !two || !three) throw new Error('three jobs');
    await stage.settle(one, done);
    await stage.settle(two, { kind: 'retry', delayMs: 0, errors: failure() });
    expect((await stage.storage.claim(request)).map(({ id }) => id)).toEqual([three.id]);
    expect((await stage.record(two.id)).status).toBe('pending');
  });

  test('a repeat of a claim is answered while its queue is paused', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue);
    const request = stage.request(queue);
    await stage.storage.claim(request);
    await stage.storage.setPaused(queue, true);
    expect((await stage.storage.claim(request)).map((job) => job.id)).toEqual([id]);
  });

  test('tokens of one incarnation hold their jobs apart', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 2);
    const incarnation = stage.incarnation();
    const one = await stage.claimOne(queue, { token: stage.token(incarnation) });
    const two = await stage.claimOne(queue, { token: stage.token(incarnation) });
    expect(await stage.settle({ id: one.id, token: two.token }, done)).toBe('lease-lost');
    expect(await stage.settle(one, done)).toBe('done');
  });

  test('ten claimers, ten jobs: ten distinct claims', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 10);
    const claims = await Promise.all(ids.map(() => stage.claim(queue, { limit: 1 })));
    expect(sorted(claims.flat().map(({ id }) => id))).toEqual(sorted(ids));
  });

  test('sixteen claimers and settlers at once lose no job and double none', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 480);
    const seen: string[] = [];
    const drain = async (storage: typeof stage.storage): Promise<void> => {
      for (;;) {
        const claimed = await storage.claim(stage.request(queue, { limit: 7 }));
        if (claimed.length === 0) return;
        seen.push(...claimed.map(({ id }) => id));
        const outcomes = await storage.settle(
          claimed.map(({ id, token }) => ({ id, token, kind: 'completed', result: null })),
        );
        expect(outcomes.every((outcome) => outcome === 'done')).toBe(true);
      }
    };
    await Promise.all(
      Array.from({ length: 16 }, (_, index) => drain(index % 2 ? stage.storage : other.storage)),
    );
    // A claimer may find nothing while another still holds the rows it would have taken.
    await drain(stage.storage);
    expect(sorted(seen)).toEqual(sorted(ids));
    expect(await stage.stats(queue)).toMatchObject({ pending: 0, processing: 0, completed: 480 });
  });
}

function sortedById<T extends { readonly id: string }>(jobs: readonly T[]): T[] {
  return [...jobs].sort((a, b) => (a.id < b.id ? -1 : 1));
}
