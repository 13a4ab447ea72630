import { expect, test } from 'vitest';
import { DAY, done, failure, HOUR, MINUTE, type Stage, settlement, type Verdict } from './stage.js';

const final = ['completed', 'buried', 'cancelled'] as const;
const verdictOf: Record<(typeof final)[number], Verdict> = {
  completed: done,
  buried: { kind: 'buried', reason: 'non-retriable', errors: failure() },
  cancelled: { kind: 'cancelled', reason: null },
};

export function purgeSuite(stage: Stage): void {
  for (const status of final) {
    test(`purging ${status} jobs takes those that are old enough, and no other status`, async () => {
      const queue = stage.queue();
      const old: Record<string, string> = {};
      for (const each of final) old[each] = (await stage.ended(queue, verdictOf[each])).id;
      const [pending, running] = [
        await stage.add(queue, { due: { inMs: 9 * DAY } }),
        await stage.running(queue),
      ];
      const blocked = await stage.add(queue, { after: { ids: [running.id], onFailure: 'bury' } });
      stage.advance(2 * HOUR);
      const young = await stage.ended(queue, verdictOf[status], { priority: 100 });
      await stage.purgeAll([status], HOUR);
      const ids = [...final.map((each) => old[each] ?? ''), young.id, pending, running.id, blocked];
      const expected = [...final, status, 'pending', 'processing', 'blocked'];
      expected[final.indexOf(status)] = 'unknown';
      expect(await stage.statuses(ids)).toEqual(expected);
    });
  }

  test('a purge of several statuses takes them all, a purge of none takes nothing', async () => {
    const queue = stage.queue();
    const ids: string[] = [];
    for (const status of final) ids.push((await stage.ended(queue, verdictOf[status])).id);
    expect(await stage.storage.purge({ statuses: [], olderThanMs: 0, limit: 1_000 })).toBe(0);
    expect(await stage.statuses(ids)).toEqual([...final]);
    await stage.purgeAll(final, 0);
    expect(await stage.statuses(ids)).toEqual(['unknown', 'unknown', 'unknown']);
  });

  test('a purge takes at most its limit and goes on where it stopped', async () => {
    const queue = stage.queue();
    await stage.purgeAll(final, 0);
    await stage.addMany(queue, 25);
    await stage.storage.settle((await stage.claim(queue)).map((job) => settlement(job)));
    const counts: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      counts.push(await stage.storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 10 }));
    }
    expect(counts).toEqual([10, 10, 5, 0]);
    expect(await stage.allJobs({ queue })).toEqual([]);
  });

  test('a purge takes log and keys along', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const idempotency = { key, inputHash: 'a'.repeat(64) };
    const job = await stage.running(queue, { idempotency });
    await stage.storage.appendLog([
      { id: job.id, token: job.token, seq: 1, kind: 'log', level: 'info', text: 'x' },
    ]);
    await stage.settle(job);
    await stage.purgeAll(['completed'], 0);
    expect(await stage.storage.log(job.id, { limit: 10 })).toEqual([]);
    expect(await stage.settle(job)).toBe('already-final');
    expect(
      await stage.offer(stage.newJob(queue, { idempotency: { ...idempotency, inputHash: 'b'.repeat(64) } })),
    ).toMatchObject({
      outcome: 'created',
    });
  });

  test("a job's own retention goes before the purge's, longer or shorter", async () => {
    const queue = stage.queue();
    for (const status of ['completed', 'cancelled'] as const) {
      const long = await stage.ended(queue, verdictOf[status], { retentionMs: 10 * HOUR });
      const short = await stage.ended(queue, verdictOf[status], { retentionMs: HOUR });
      const none = await stage.ended(queue, verdictOf[status], { retentionMs: 0 });
      const usual = await stage.ended(queue, verdictOf[status]);
      const ids = [long.id, short.id, none.id, usual.id];
      await stage.purgeAll([status], 5 * HOUR);
      expect(await stage.statuses(ids)).toEqual([status, status, 'unknown', status]);
      stage.advance(2 * HOUR);
      await stage.purgeAll([status], 5 * HOUR);
      expect(await stage.statuses(ids)).toEqual([status, 'unknown', 'unknown', status]);
      stage.advance(4 * HOUR);
      await stage.purgeAll([status], 5 * HOUR);
      expect(await stage.statuses(ids)).toEqual([status, 'unknown', 'unknown', 'unknown']);
      await stage.purgeAll([status], 0);
      expect(await stage.statuses([long.id])).toEqual([status]);
      stage.advance(5 * HOUR);
      await stage.purgeAll([status], 5 * HOUR);
      expect(await stage.statuses([long.id])).toEqual(['unknown']);
    }
  });

  test('a purge of buried jobs goes by its own age only', async () => {
    const queue = stage.queue();
    const short = await stage.ended(queue, verdictOf.buried, { retentionMs: 0 });
    const long = await stage.ended(queue, verdictOf.buried, { retentionMs: 99 * DAY });
    stage.advance(HOUR);
    await stage.purgeAll(['buried'], 2 * HOUR);
    expect(await stage.statuses([short.id, long.id])).toEqual(['buried', 'buried']);
    stage.advance(2 * HOUR);
    await stage.purgeAll(['buried'], 2 * HOUR);
    expect(await stage.statuses([short.id, long.id])).toEqual(['unknown', 'unknown']);
  });

  test('a retry starts the age anew', async () => {
    const queue = stage.queue();
    const { id } = await stage.ended(queue, verdictOf.buried);
    stage.advance(2 * HOUR);
    await stage.storage.retry(id);
    await stage.settle(await stage.claimOne(queue), verdictOf.buried);
    await stage.purgeAll(['buried'], HOUR);
    expect(await stage.statuses([id])).toEqual(['buried']);
  });

  test('a purge keeps what something waits for or waited for, until that has ended', async () => {
    const queue = stage.queue();
    const parent = await stage.ended(queue, done);
    const other = await stage.running(queue);
    const after = (ids: string[]) => ({ after: { ids, onFailure: 'run' } }) as const;
    const blocked = await stage.add(queue, after([parent.id, other.id]));
    const second = await stage.ended(queue, verdictOf.buried);
    const waiting = await stage.add(queue, { due: { inMs: DAY }, ...after([second.id]) });
    const third = await stage.ended(queue, verdictOf.cancelled);
    const running = await stage.running(queue, { priority: 100, ...after([third.id]) });
    stage.advance(HOUR);
    const parents = [parent.id, second.id, third.id];
    await stage.purgeAll(final, 0);
    expect(await stage.statuses(parents)).toEqual([...final]);
    await stage.settle(running);
    await stage.storage.cancel(waiting);
    await stage.storage.delete(blocked);
    stage.advance(HOUR);
    await stage.purgeAll(final, 0);
    expect(await stage.statuses([...parents, running.id, waiting])).toEqual(Array(5).fill('unknown'));
    expect(await stage.settle(other)).toBe('done');
  });

  test('old jobs that must be kept do not hide one that can go', async () => {
    const queue = stage.queue();
    await stage.purgeAll(final, 0);
    const parents = await stage.addMany(queue, 30);
    await stage.storage.settle((await stage.claim(queue)).map((job) => settlement(job)));
    await stage.add(queue, { due: { inMs: 9 * DAY }, after: { ids: parents, onFailure: 'run' } });
    const own = await stage.ended(queue, done, { retentionMs: 9 * DAY });
    const free = await stage.ended(queue, done);
    stage.advance(MINUTE);
    let purged = 0;
    for (let round = 0; round < 3; round += 1) {
      purged += await stage.storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 5 });
    }
    expect(purged).toBe(1);
    expect(await stage.statuses([free.id, own.id, parents[0] ?? ''])).toEqual([
      'unknown',
      'completed',
      'completed',
    ]);
  });

  test('a parent whose dependent is retried is needed again', async () => {
    const queue = stage.queue();
    const parent = await stage.ended(queue, done);
    const child = await stage.ended(queue, verdictOf.buried, {
      after: { ids: [parent.id], onFailure: 'bury' },
    });
    await stage.storage.retry(child.id);
    await stage.purgeAll(final, 0);
    expect(await stage.statuses([parent.id, child.id])).toEqual(['completed', 'pending']);
  });

  test('a purged parent is not found by those that come later, and strands none that came before', async () => {
    const queue = stage.queue();
    const parent = await stage.ended(queue, done);
    const child = await stage.add(queue, { after: { ids: [parent.id], onFailure: 'bury' } });
    await stage.settle(await stage.claimOne(queue));
    await stage.purgeAll(['completed'], 0);
    expect(await stage.statuses([parent.id, child])).toEqual(['unknown', 'unknown']);
    const late = stage.newJob(queue, { after: { ids: [parent.id], onFailure: 'run' } });
    expect(await stage.offer(late)).toEqual({ outcome: 'parent-not-found', id: parent.id });
  });

  test('a unique period that still runs outlives the purge of its job, one that has passed does not', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const unique = { key, scope: 'period', periodMs: 10 * HOUR } as const;
    const { id } = await stage.ended(queue, done, { unique });
    stage.advance(HOUR);
    await stage.purgeAll(['completed'], 0);
    expect(await stage.statuses([id])).toEqual(['unknown']);
    await stage.storage.purgeTraces({ olderThanMs: DAY, limit: 1_000 });
    expect(await stage.offer(stage.newJob(queue, { unique }))).toEqual({ outcome: 'duplicate', id });
    stage.advance(10 * HOUR);
    await stage.storage.purgeTraces({ olderThanMs: DAY, limit: 1_000 });
    expect(await stage.offer(stage.newJob(queue, { unique }))).toMatchObject({ outcome: 'created' });
  });

  test('purging traces leaves keys that are not periods', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const unique = { key, scope: 'active', periodMs: 0 } as const;
    const id = await stage.add(queue, { unique });
    stage.advance(30 * DAY);
    await stage.storage.purgeTraces({ olderThanMs: 0, limit: 1_000 });
    expect(await stage.offer(stage.newJob(queue, { unique }))).toEqual({ outcome: 'duplicate', id });
  });

  test('jobs are purged while others settle and dispatch, and nothing else is lost', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    await stage.addMany(queue, 200);
    const work = async (): Promise<void> => {
      for (let claimed = await stage.claim(queue, { limit: 20 }); claimed.length > 0; ) {
        await stage.storage.settle(claimed.map((job) => settlement(job)));
        claimed = await stage.claim(queue, { limit: 20 });
      }
    };
    const sweep = async (): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        await other.storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 15 });
      }
    };
    await Promise.all([work(), work(), sweep()]);
    expect(await stage.stats(queue)).toMatchObject({ pending: 0, processing: 0, completed: 200 });
  });
}
