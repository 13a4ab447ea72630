import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { JobLimit } from '../../src/storage/job-limit.js';
import { done, failure, HOUR, MINUTE, SECOND, type Stage, sorted, type Verdict } from './stage.js';

export function limitsSuite(stage: Stage): void {
  const limit = (max: number | null, key: string | null = null, group = stage.queue()): JobLimit => ({
    group,
    key,
    max,
  });

  test('of a group no more run at once than its limit, whoever claims', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 5, { limit: limit(3) });
    const first = await stage.claim(queue);
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(await stage.claim(queue)).toEqual([]);
    await stage.settle(first[1] ?? { id: '', token: '' });
    expect(await stage.claimIds(queue)).toEqual(ids.slice(3, 4));
    expect(await stage.claim(queue)).toEqual([]);
  });

  const endings: Verdict[] = [
    { kind: 'completed', result: '1' },
    { kind: 'retry', delayMs: HOUR, errors: failure() },
    { kind: 'buried', reason: 'non-retriable', errors: failure() },
    { kind: 'cancelled', reason: null },
    { kind: 'snoozed', delayMs: HOUR },
    { kind: 'put-back', delayMs: HOUR, reason: 'drained' },
    { kind: 'died', delayMs: HOUR, alone: false, errors: failure() },
  ];

  test.each(endings)('an attempt that ends by $kind gives its place free', async (verdict) => {
    const queue = stage.queue();
    const [one, two] = await stage.addMany(queue, 2, { limit: limit(1) });
    const held = await stage.claimOne(queue);
    expect(held.id).toBe(one);
    expect(await stage.settle(held, verdict)).toBe('done');
    expect(await stage.claimIds(queue)).toEqual([two]);
  });

  test('a settle and a claim in one exchange: the place that is given free is taken', async () => {
    const queue = stage.queue();
    const [one, two] = await stage.addMany(queue, 2, { limit: limit(1) });
    const held = await stage.claimOne(queue);
    expect(held.id).toBe(one);
    const settlements = [{ id: held.id, token: held.token, kind: 'completed', result: null } as const];
    const answer = await stage.storage.exchange(settlements, stage.request(queue));
    expect(answer.settled).toEqual(['done']);
    expect(answer.claimed.map(({ id }) => id)).toEqual([two]);
  });

  test('every key of a group has the limit for itself', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const keys = ['a', 'A', 'a ', 'ä', 'x'.repeat(191), 'tenant "7"; --', null];
    for (const key of keys) await stage.addMany(queue, 2, { limit: limit(1, key, group) });
    const claimed = await stage.claim(queue);
    expect(claimed.map((job) => job.limit?.key ?? null).sort()).toEqual([...keys].sort());
    expect(await stage.claim(queue)).toEqual([]);
  });

  test('groups are told apart by case', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.add(queue, { limit: limit(1, null, `${group}-a`) });
    await stage.add(queue, { limit: limit(1, null, `${group}-A`) });
    expect(await stage.claim(queue)).toHaveLength(2);
  });

  test('a limit holds over queues and names', async () => {
    const [one, two] = [stage.queue(), stage.queue()];
    const shared = limit(2);
    await stage.add(one, { limit: shared });
    await stage.add(two, { limit: shared });
    await stage.add(two, { limit: shared, name: 'other' });
    expect(await stage.claim(one)).toHaveLength(1);
    expect(await stage.claim(two, { names: ['other'] })).toHaveLength(1);
    expect(await stage.claim(two)).toEqual([]);
  });

  test('of two maxima the smaller holds, that of the one that runs as well as its own', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.add(queue, { limit: limit(1, null, group) });
    const small = await stage.claimOne(queue);
    await stage.add(queue, { limit: limit(5, null, group) });
    expect(await stage.claim(queue)).toEqual([]);
    await stage.settle(small);
    const large = await stage.claimOne(queue);
    await stage.add(queue, { limit: limit(1, null, group) });
    expect(await stage.claim(queue)).toEqual([]);
    await stage.settle(large);
    expect(await stage.claim(queue)).toHaveLength(1);
  });

  test('a job with a smaller maximum that can not run hides none with a larger one', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 2, { limit: limit(5, null, group) });
    await stage.claim(queue);
    await stage.addMany(queue, 3, { limit: limit(2, null, group) });
    const larger = await stage.addMany(queue, 2, { limit: limit(5, null, group) });
    expect(await stage.claimIds(queue)).toEqual(larger);
  });

  test('a group without a maximum is not capped, but counts', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 4, { limit: limit(null, null, group) });
    expect(await stage.claim(queue)).toHaveLength(4);
    await stage.add(queue, { limit: limit(4, null, group) });
    expect(await stage.claim(queue)).toEqual([]);
  });

  test('a full limit hides nothing: not in its queue, not of lower priority, not in later queues', async () => {
    const [queue, later] = [stage.queue(), stage.queue()];
    const full = limit(1);
    await stage.addMany(queue, 30, { limit: full, priority: 50 });
    await stage.claimOne(queue);
    const plain = await stage.addMany(queue, 2);
    const low = await stage.add(queue, { priority: -50, limit: limit(1) });
    const other = await stage.add(later);
    expect(await stage.claimIds([queue, later])).toEqual([...plain, low, other]);
  });

  test('limited and ordinary jobs come in one order', async () => {
    const queue = stage.queue();
    const group = limit(10);
    const first = await stage.add(queue, { limit: group });
    const second = await stage.add(queue);
    const third = await stage.add(queue, { limit: group });
    const urgent = await stage.add(queue, { priority: 10, limit: limit(1) });
    expect(await stage.claimIds(queue)).toEqual([urgent, first, second, third]);
  });

  test('a limited job is started at once, and never waits in a buffer', async () => {
    const queue = stage.queue();
    const [one, two] = await stage.addMany(queue, 2, { limit: limit(5) });
    const claimed = await stage.claim(queue, { limit: 10, start: 1 });
    expect(claimed.map(({ id, started }) => [id, started])).toEqual([[one, true]]);
    expect(await stage.claim(queue, { limit: 10, start: 0 })).toEqual([]);
    expect(await stage.claimIds(queue, { limit: 10, start: 3 })).toEqual([two]);
  });

  test('a buffer is not filled past a limited job that could run', async () => {
    const queue = stage.queue();
    const before = await stage.addMany(queue, 3);
    const limited = await stage.add(queue, { limit: limit(1) });
    const behind = await stage.add(queue);
    const later = stage.queue();
    await stage.add(later);
    const claimed = await stage.claim([queue, later], { limit: 10, start: 1 });
    expect(claimed.map(({ id, started }) => [id, started])).toEqual(
      before.map((id, index) => [id, index === 0]),
    );
    expect(await stage.claimIds([queue, later], { limit: 2, start: 2 })).toEqual([limited, behind]);
  });

  test('a buffer is filled past a limited job that can not run', async () => {
    const queue = stage.queue();
    const full = limit(1);
    await stage.addMany(queue, 2, { limit: full });
    await stage.claimOne(queue);
    const plain = await stage.addMany(queue, 3);
    expect(await stage.claimIds(queue, { limit: 10, start: 1 })).toEqual(plain);
  });

  test('a limited job that is not due, blocked or of a paused queue neither runs nor counts', async () => {
    const [queue, paused] = [stage.queue(), stage.queue()];
    const shared = limit(1);
    const parent = await stage.add(queue, { name: 'parent' });
    await stage.add(queue, { limit: shared, due: { inMs: HOUR } });
    const child = await stage.add(queue, { limit: shared, after: { ids: [parent], onFailure: 'run' } });
    await stage.add(paused, { limit: shared });
    await stage.storage.setPaused(paused, true);
    expect(await stage.claim([queue, paused])).toEqual([]);
    await stage.settle(await stage.claimOne(queue, { names: ['parent'] }));
    expect(await stage.claimIds([queue, paused])).toEqual([child]);
  });

  test('an abandoned lease counts until it is taken back', async () => {
    const queue = stage.queue();
    const [one, two] = await stage.addMany(queue, 2, { limit: limit(1) });
    expect(await stage.claimIds(queue)).toEqual([one]);
    const lease = await stage.lapse(queue);
    expect(await stage.claim(queue)).toEqual([]);
    const { id, token, leaseUntilMs } = lease;
    const death = { kind: 'died', delayMs: HOUR, alone: false, errors: failure('died') } as const;
    expect(await stage.storage.takeBack([{ id, token, leaseUntilMs, ...death }])).toEqual(['done']);
    expect(await stage.claimIds(queue)).toEqual([two]);
  });

  test('a job that must run alone counts against its limit and keeps to it', async () => {
    const queue = stage.queue();
    const shared = limit(1);
    const alone = await stage.add(queue, { limit: shared });
    await stage.settle(await stage.claimOne(queue), {
      kind: 'died',
      delayMs: 0,
      alone: true,
      errors: failure(),
    });
    const other = await stage.add(queue, { limit: shared });
    const held = await stage.claimOne(queue);
    expect(held.id).toBe(other);
    expect(await stage.claim(queue, { alone: true })).toEqual([]);
    await stage.settle(held);
    expect(await stage.claimIds(queue, { alone: true })).toEqual([alone]);
    await stage.add(queue, { limit: shared });
    expect(await stage.claim(queue)).toEqual([]);
  });

  test('a full limit of one that must run alone hides no other that must', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const first = await stage.add(queue, { limit: limit(1, null, group) });
    const second = await stage.add(queue);
    const died: Verdict = { kind: 'died', delayMs: 0, alone: true, errors: failure() };
    for (const job of await stage.claim(queue)) await stage.settle(job, died);
    await stage.add(queue, { limit: limit(1, null, group) });
    const held = await stage.claimOne(queue);
    stage.advance(SECOND);
    expect(await stage.claimIds(queue, { alone: true })).toEqual([second]);
    await stage.settle(held);
    expect(await stage.claimIds(queue, { alone: true })).toEqual([first]);
  });

  test('a repeat of a claim answers with its limited jobs and takes no more', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 4, { limit: limit(3), cost: 2 });
    const request = stage.request(queue, { limit: 2, start: 2 });
    const first = await stage.storage.claim(request);
    expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const again = await stage.storage.claim(request);
    expect(sorted(again.map(({ id }) => id))).toEqual(sorted(ids.slice(0, 2)));
    expect(again[0]).toMatchObject({ limit: first[0]?.limit, cost: 2, requires: [], started: true });
    expect(await stage.claimIds(queue)).toEqual(ids.slice(2, 3));
  });

  test('limit, cost and labels show on the job, in every status', async () => {
    const queue = stage.queue();
    const bounds = { limit: limit(2, 'tenant'), cost: 7, requires: ['eu', 'gpu'] };
    const id = await stage.add(queue, bounds);
    expect(await stage.record(id)).toMatchObject({ status: 'pending', ...bounds });
    const job = await stage.claimOne(queue, { labels: ['gpu', 'eu'] });
    expect(job).toMatchObject({ id, ...bounds });
    expect(await stage.record(id)).toMatchObject({ status: 'processing', ...bounds });
    await stage.settle(job);
    expect(await stage.record(id)).toMatchObject({ status: 'completed', ...bounds });
    const parent = await stage.add(queue);
    const blocked = await stage.add(queue, { ...bounds, after: { ids: [parent], onFailure: 'run' } });
    expect(await stage.record(blocked)).toMatchObject({ status: 'blocked', ...bounds });
    expect(await stage.record(parent)).toMatchObject({ limit: null, cost: 1, requires: [] });
  });

  test('a retry and an edit leave a job under its limit', async () => {
    const [queue, other] = [stage.queue(), stage.queue()];
    const shared = limit(1);
    const [one, two] = [await stage.add(queue, { limit: shared }), await stage.add(queue, { limit: shared })];
    await stage.settle(await stage.claimOne(queue), {
      kind: 'buried',
      reason: 'non-retriable',
      errors: failure(),
    });
    expect(await stage.storage.retry(one)).toBe('done');
    expect(await stage.storage.edit(two, { queue: other, priority: 20 })).toBe('done');
    expect(await stage.claimIds([queue, other])).toEqual([one]);
    expect(await stage.claim([other, queue])).toEqual([]);
    expect(await stage.record(two)).toMatchObject({ limit: shared, queue: other, priority: 20 });
  });

  test('what is kept of a line may be purged, and a job that comes back stands under its limit again', async () => {
    const queue = stage.queue();
    const shared = limit(1, 'tenant');
    const buried = await stage.ended(
      queue,
      { kind: 'buried', reason: 'non-retriable', errors: failure() },
      { limit: shared, cost: 3 },
    );
    stage.advance(49 * HOUR);
    await stage.storage.purgeTraces({ olderThanMs: HOUR, limit: 1_000 });
    expect(await stage.record(buried.id)).toMatchObject({ limit: shared, cost: 3 });
    expect(await stage.storage.retry(buried.id)).toBe('done');
    await stage.add(queue, { limit: shared, cost: 3 });
    await stage.add(queue, { limit: shared });
    expect(await stage.claimIds(queue)).toEqual([buried.id]);
    expect(await stage.claim(queue)).toEqual([]);
  });

  test('the state of limits tells what runs and waits', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const mine = async () => (await stage.storage.limits()).filter((state) => state.group === group);
    expect(await mine()).toEqual([]);
    await stage.addMany(queue, 3, { limit: limit(2, 'a', group), cost: 5 });
    await stage.add(queue, { limit: limit(4, 'a', group), due: { inMs: HOUR } });
    await stage.add(queue, { limit: limit(null, null, group) });
    expect(await mine()).toEqual([
      { group, key: null, max: null, running: 0, runningCost: 0, waiting: 1 },
      { group, key: 'a', max: 2, running: 0, runningCost: 0, waiting: 4 },
    ]);
    const claimed = await stage.claim(queue);
    expect(await mine()).toEqual([
      { group, key: null, max: null, running: 1, runningCost: 1, waiting: 0 },
      { group, key: 'a', max: 2, running: 2, runningCost: 10, waiting: 2 },
    ]);
    for (const job of claimed) await stage.settle(job);
    for (const job of await stage.claim(queue)) await stage.settle(job);
    expect(await mine()).toEqual([{ group, key: 'a', max: 4, running: 0, runningCost: 0, waiting: 1 }]);
  });

  test('a limit counts, lists and stands before as any job does', async () => {
    const queue = stage.queue();
    const shared = limit(1);
    const ids = await stage.addMany(queue, 3, { limit: shared });
    await stage.addMany(queue, 2);
    expect(await stage.stats(queue)).toMatchObject({ pending: 5, claimable: 5 });
    expect(await stage.storage.ahead(ids[2] ?? '')).toBe(2);
    expect((await stage.allJobs({ queue })).map(({ id }) => id)).toHaveLength(5);
    await stage.claimOne(queue);
    expect(await stage.stats(queue)).toMatchObject({ pending: 4, claimable: 4, processing: 1 });
    expect(await stage.storage.ahead(ids[2] ?? '')).toBe(1);
  });

  test('peek tells of limited jobs that could run, and of those that will be due', async () => {
    const queue = stage.queue();
    const shared = limit(1);
    const peek = async () => (await stage.storage.peek(stage.request(queue))).dueInMs;
    await stage.addMany(queue, 2, { limit: shared });
    expect(await peek()).toBe(0);
    const held = await stage.claimOne(queue);
    expect(await peek()).toBeNull();
    await stage.add(queue, { limit: shared, due: { inMs: 10 * MINUTE } });
    const later = await peek();
    expect(later).toBeGreaterThan(9 * MINUTE);
    expect(later).toBeLessThanOrEqual(10 * MINUTE);
    await stage.settle(held);
    expect(await peek()).toBe(0);
  });

  test('a repeat of a dispatch keeps what was dispatched', async () => {
    const queue = stage.queue();
    const job = stage.newJob(queue, { id: uuidv7(), limit: limit(1), cost: 4 });
    await stage.offer(job);
    expect(await stage.offer({ ...job, limit: null, cost: 1 })).toMatchObject({ outcome: 'replayed' });
    expect(await stage.record(job.id)).toMatchObject({ limit: job.limit, cost: 4 });
  });

  test('a lost lease settles nothing, and its place stays with its job', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 2, { limit: limit(1) });
    const held = await stage.claimOne(queue);
    expect(await stage.settle({ id: held.id, token: stage.token() }, done)).toBe('lease-lost');
    expect(await stage.claim(queue)).toEqual([]);
  });
}
