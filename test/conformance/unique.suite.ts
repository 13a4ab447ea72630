import { expect, test } from 'vitest';
import type { NewJob, UniqueScope } from '../../src/storage/new-job.js';
import { done, failure, HOUR, MINUTE, type Stage, type Verdict } from './stage.js';
import { buried } from './verdicts.js';

const scopes = ['waiting', 'active', 'period'] as const;

export function uniqueSuite(stage: Stage): void {
  const unique = (key: string, scope: UniqueScope = 'active', periodMs = scope === 'period' ? HOUR : 0) =>
    ({ unique: { key, scope, periodMs } }) satisfies Partial<NewJob>;
  const isFree = async (key: string): Promise<boolean> => {
    const probe = stage.newJob(stage.queue(), unique(key));
    const { outcome } = await stage.offer(probe);
    if (outcome === 'created') await stage.storage.delete(probe.id);
    return outcome === 'created';
  };

  for (const scope of scopes) {
    test(`a second dispatch with a key held by scope ${scope} is a duplicate that names the holder`, async () => {
      const [queue, key] = [stage.queue(), stage.queue()];
      const holder = await stage.add(queue, unique(key, scope));
      expect((await stage.record(holder)).uniqueKey).toBe(key);
      for (const other of scopes) {
        const second = stage.newJob(stage.queue(), { name: 'another', ...unique(key, other) });
        expect(await stage.offer(second)).toEqual({ outcome: 'duplicate', id: holder });
        expect(await stage.storage.job(second.id)).toBeNull();
      }
    });

    test(`a repeat of the dispatch that took a key by scope ${scope} is replayed`, async () => {
      const job = stage.newJob(stage.queue(), unique(stage.queue(), scope));
      await stage.offer(job);
      expect(await stage.offer(job)).toEqual({ outcome: 'replayed', id: job.id });
    });

    test(`two objects at the same instant with one key of scope ${scope} get one job`, async () => {
      await using other = await stage.another();
      for (let round = 0; round < 8; round += 1) {
        const key = stage.queue();
        const jobs = stage.newJobs(stage.queue(), 4, unique(key, scope));
        const outcomes = await Promise.all(
          jobs.map((job, index) => (index % 2 ? stage.storage : other.storage).enqueue([job])),
        );
        const created = outcomes.flat().filter(({ outcome }) => outcome === 'created');
        expect(created).toHaveLength(1);
        const duplicates = outcomes.flat().filter(({ outcome }) => outcome === 'duplicate');
        expect(duplicates.map(({ id }) => id)).toEqual(Array(3).fill(created[0]?.id));
      }
    });

    test(`deleting the job frees its key of scope ${scope}`, async () => {
      const key = stage.queue();
      const id = await stage.add(stage.queue(), unique(key, scope));
      await stage.storage.delete(id);
      expect(await isFree(key)).toBe(true);
    });

    test(`deleting the job when it has ended frees its key of scope ${scope}`, async () => {
      const key = stage.queue();
      const { id } = await stage.ended(stage.queue(), done, unique(key, scope));
      await stage.storage.delete(id);
      expect(await isFree(key)).toBe(true);
    });
  }

  for (const scope of ['waiting', 'active'] as const) {
    test(`burying or cancelling a waiting job frees its key of scope ${scope}`, async () => {
      for (const call of ['bury', 'cancel'] as const) {
        const key = stage.queue();
        const id = await stage.add(stage.queue(), unique(key, scope));
        await stage.storage[call](id);
        expect(await isFree(key)).toBe(true);
      }
    });

    test(`a dependent taken down by its parent frees its key of scope ${scope}`, async () => {
      const [queue, key] = [stage.queue(), stage.queue()];
      const parent = await stage.running(queue);
      await stage.add(queue, { ...unique(key, scope), after: { ids: [parent.id], onFailure: 'bury' } });
      expect(await isFree(key)).toBe(false);
      await stage.settle(parent, buried);
      expect(await isFree(key)).toBe(true);
    });

    test(`a job born buried does not hold its key of scope ${scope}`, async () => {
      const [queue, key] = [stage.queue(), stage.queue()];
      const parent = await stage.ended(queue, buried);
      await stage.add(queue, { ...unique(key, scope), after: { ids: [parent.id], onFailure: 'bury' } });
      expect(await isFree(key)).toBe(true);
    });
  }

  const endings: readonly Verdict[] = [done, buried, { kind: 'cancelled', reason: null }];

  for (const verdict of endings) {
    test(`a key of scope active is held while the job runs and freed when it is ${verdict.kind}`, async () => {
      const key = stage.queue();
      const job = await stage.running(stage.queue(), unique(key));
      expect(await isFree(key)).toBe(false);
      await stage.settle(job, verdict);
      expect(await isFree(key)).toBe(true);
    });
  }

  test('a key of scope active is held through retries, put-backs and deaths', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    await stage.running(queue, unique(key));
    await stage.storage.takeBack([{ ...(await stage.lapse(queue)), kind: 'lapsed' }]);
    expect(await isFree(key)).toBe(false);
    await stage.settle(await stage.claimOne(queue), { kind: 'retry', delayMs: 0, errors: failure() });
    expect(await isFree(key)).toBe(false);
    await stage.settle(await stage.claimOne(queue), { kind: 'put-back', delayMs: 0, reason: 'drain' });
    expect(await isFree(key)).toBe(false);
  });

  test('a key of scope active is freed by poison and by a stop request', async () => {
    const [queue, one, two] = [stage.queue(), stage.queue(), stage.queue()];
    await stage.running(queue, unique(one));
    await stage.storage.takeBack([{ ...(await stage.lapse(queue)), kind: 'poison', errors: failure() }]);
    expect(await isFree(one)).toBe(true);
    const job = await stage.running(queue, unique(two));
    await stage.storage.delete(job.id);
    expect(await isFree(two)).toBe(false);
    await stage.settle(job, { kind: 'snoozed', delayMs: 0 });
    expect(await isFree(two)).toBe(true);
  });

  test('a key of scope waiting is freed by the first claim and not taken again', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const job = await stage.running(queue, unique(key, 'waiting'), { start: 0 });
    const second = await stage.add(stage.queue(), unique(key, 'waiting'));
    await stage.settle(job, { kind: 'retry', delayMs: 0, errors: failure() });
    expect((await stage.record(job.id)).status).toBe('pending');
    await stage.storage.cancel(second);
    expect(await isFree(key)).toBe(true);
    await stage.settle(await stage.claimOne(queue), buried);
    expect(await stage.storage.retry(job.id)).toBe('done');
    expect(await isFree(key)).toBe(true);
  });

  test('ending a job does not free a key that another job took after it', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const first = await stage.running(queue, unique(key, 'waiting'));
    await stage.add(stage.queue(), unique(key));
    await stage.settle(first);
    expect(await isFree(key)).toBe(false);
    await stage.storage.delete(first.id);
    expect(await isFree(key)).toBe(false);
  });

  test('a period outlives completion and burial, and passes', async () => {
    const queue = stage.queue();
    for (const verdict of [done, buried]) {
      const key = stage.queue();
      const job = await stage.ended(queue, verdict, unique(key, 'period', HOUR));
      stage.advance(HOUR - MINUTE);
      expect(await stage.offer(stage.newJob(queue, unique(key)))).toEqual({
        outcome: 'duplicate',
        id: job.id,
      });
      stage.advance(2 * MINUTE);
      expect(await isFree(key)).toBe(true);
    }
  });

  test('a period that passed while its job still waits is free, and the next one is a new period', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const first = await stage.add(queue, unique(key, 'period', HOUR));
    stage.advance(HOUR + MINUTE);
    const second = await stage.add(queue, unique(key, 'period', HOUR));
    expect(await stage.offer(stage.newJob(queue, unique(key)))).toEqual({ outcome: 'duplicate', id: second });
    await stage.storage.delete(first);
    expect(await isFree(key)).toBe(false);
    stage.advance(HOUR + MINUTE);
    expect(await isFree(key)).toBe(true);
  });

  test('two objects at the same instant after a period has passed get one job', async () => {
    await using other = await stage.another();
    const key = stage.queue();
    const old = await stage.add(stage.queue(), unique(key, 'period', MINUTE));
    stage.advance(2 * MINUTE);
    const jobs = stage.newJobs(stage.queue(), 6, unique(key, 'period', MINUTE));
    const outcomes = await Promise.all(
      jobs.map((job, index) => (index % 2 ? stage.storage : other.storage).enqueue([job])),
    );
    expect(outcomes.flat().filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
    expect(outcomes.flat().every(({ id }) => id !== old)).toBe(true);
  });

  test('a retry takes an active key again, or is a duplicate when another job holds it', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const first = await stage.ended(queue, buried, unique(key));
    const second = await stage.ended(queue, { kind: 'cancelled', reason: null }, unique(key));
    expect(await stage.storage.retry(first.id)).toBe('done');
    expect(await isFree(key)).toBe(false);
    const before = await stage.record(second.id);
    expect(await stage.storage.retry(second.id)).toBe('duplicate');
    expect(await stage.record(second.id)).toEqual(before);
    await stage.settle(await stage.claimOne(queue));
    expect(await stage.storage.retry(second.id)).toBe('done');
  });

  test('a retry needs no key when its period still runs or has passed', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const job = await stage.ended(queue, buried, unique(key, 'period', HOUR));
    expect(await stage.storage.retry(job.id)).toBe('done');
    await stage.settle(await stage.claimOne(queue), buried);
    stage.advance(2 * HOUR);
    await stage.add(stage.queue(), unique(key));
    expect(await stage.storage.retry(job.id)).toBe('done');
  });

  test('a mass retry passes over duplicates, and they hide nothing behind them', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const duplicates: string[] = [];
    for (let index = 0; index < 3; index += 1)
      duplicates.push((await stage.ended(queue, buried, unique(key))).id);
    const plain = await stage.ended(queue, buried);
    const holder = await stage.add(stage.queue(), unique(key));
    expect(await stage.storage.retryBuried({ queue, limit: 1 })).toEqual({ retried: 1, duplicates: 3 });
    expect(await stage.statuses([...duplicates, plain.id])).toEqual([
      'buried',
      'buried',
      'buried',
      'pending',
    ]);
    await stage.storage.cancel(holder);
    expect(await stage.storage.retryBuried({ queue, limit: 10 })).toEqual({ retried: 1, duplicates: 2 });
    expect(await stage.statuses(duplicates)).toEqual(['pending', 'buried', 'buried']);
  });
}
