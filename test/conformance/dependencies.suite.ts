import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { FailedParentPolicy } from '../../src/storage/new-job.js';
import { done, failure, HOUR, MINUTE, type Stage, settlement, sorted, type Verdict } from './stage.js';

const buried: Verdict = { kind: 'buried', reason: 'non-retriable', errors: failure() };
const cancelled: Verdict = { kind: 'cancelled', reason: 'mine' };
const outcomeOf = { bury: 'buried', cancel: 'cancelled', run: 'pending' } as const;
const policies = ['bury', 'cancel', 'run'] as const;

export function dependenciesSuite(stage: Stage): void {
  const after = (ids: readonly string[], onFailure: FailedParentPolicy = 'bury') => ({
    after: { ids, onFailure },
  });

  test('a dependent is blocked and invisible until all it waits for have completed', async () => {
    const queue = stage.queue();
    const parents = await stage.addMany(queue, 2);
    const child = await stage.add(queue, { priority: 100, ...after(parents) });
    const record = await stage.record(child);
    expect([record.status, sorted(record.waitsFor)]).toEqual(['blocked', sorted(parents)]);
    expect(await stage.stats(queue)).toMatchObject({ blocked: 1, claimable: 2 });
    const [one, two] = await stage.claim(queue);
    if (!one || !two) throw new Error('two jobs');
    await stage.settle(one);
    expect(await stage.record(child)).toMatchObject({ status: 'blocked', waitsFor: [two.id] });
    expect(await stage.claim(queue)).toEqual([]);
    await stage.settle(two);
    expect(await stage.record(child)).toMatchObject({ status: 'pending', waitsFor: [] });
    expect(await stage.claimIds(queue)).toEqual([child]);
  });

  test('only a completion releases: failures, snoozes and put-backs of a parent keep its dependents waiting', async () => {
    const queue = stage.queue();
    const parent = await stage.add(queue);
    const child = await stage.add(queue, after([parent]));
    const returns: Verdict[] = [
      { kind: 'retry', delayMs: 0, errors: failure() },
      { kind: 'snoozed', delayMs: 0 },
      { kind: 'put-back', delayMs: 0, reason: 'drain' },
    ];
    for (const verdict of returns) {
      await stage.settle(await stage.claimOne(queue), verdict);
      expect(await stage.statuses([child])).toEqual(['blocked']);
    }
    await stage.settle(await stage.claimOne(queue), { kind: 'completed', result: null, outcome: 'skipped' });
    expect(await stage.statuses([child])).toEqual(['pending']);
  });

  test('parent and dependents can stand in one call, the parent first', async () => {
    const queue = stage.queue();
    const parent = stage.newJob(queue);
    const child = stage.newJob(queue, after([parent.id]));
    const grandchild = stage.newJob(queue, after([child.id, parent.id]));
    const outcomes = await stage.storage.enqueue([parent, child, grandchild]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
    for (const id of [parent.id, child.id, grandchild.id]) {
      const claimed = await stage.claim(queue);
      expect(claimed.map((job) => job.id)).toEqual([id]);
      await stage.storage.settle(claimed.map((job) => settlement(job)));
    }
  });

  test('a parent that is not known, stands later in the call, or is the job itself is not found', async () => {
    const queue = stage.queue();
    const unknown = uuidv7();
    const [selfish, early, late] = [stage.newJob(queue), stage.newJob(queue), stage.newJob(queue)];
    const outcomes = await stage.storage.enqueue([
      { ...selfish, ...after([selfish.id]) },
      { ...early, ...after([late.id]) },
      late,
      stage.newJob(queue, after([late.id, unknown])),
    ]);
    expect(outcomes).toEqual([
      { outcome: 'parent-not-found', id: selfish.id },
      { outcome: 'parent-not-found', id: late.id },
      { outcome: 'created', id: late.id },
      { outcome: 'parent-not-found', id: unknown },
    ]);
    expect(await stage.claimIds(queue)).toEqual([late.id]);
    expect((await stage.stats(queue)).blocked).toBe(0);
  });

  test('the same parent named twice counts once', async () => {
    const queue = stage.queue();
    const parent = await stage.add(queue);
    const child = await stage.add(queue, after([parent, parent]));
    expect((await stage.record(child)).waitsFor).toEqual([parent]);
    await stage.settle(await stage.claimOne(queue));
    expect(await stage.claimIds(queue)).toEqual([child]);
  });

  test('a dependent of nothing is simply pending', async () => {
    const id = await stage.add(stage.queue(), after([]));
    expect(await stage.statuses([id])).toEqual(['pending']);
  });

  test('a dependent keeps its own due time', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    const soon = await stage.add(queue, after([parent.id]));
    const late = await stage.add(queue, { due: { inMs: HOUR }, ...after([parent.id]) });
    const { dueAtMs } = await stage.record(soon);
    stage.advance(MINUTE);
    await stage.settle(parent);
    expect(await stage.record(soon)).toMatchObject({ status: 'pending', dueAtMs });
    expect(await stage.claimIds(queue)).toEqual([soon]);
    stage.advance(HOUR);
    expect(await stage.claimIds(queue)).toEqual([late]);
  });

  for (const policy of policies) {
    const status = outcomeOf[policy];

    test(`a dependent with policy ${policy} is ${status} when a parent is buried or cancelled`, async () => {
      const queue = stage.queue();
      for (const verdict of [buried, cancelled]) {
        const parent = await stage.running(queue);
        const child = await stage.add(queue, { due: { inMs: HOUR }, ...after([parent.id], policy) });
        await stage.settle(parent, verdict);
        expect(await stage.record(child)).toMatchObject({
          status,
          reason: policy === 'run' ? null : 'parent-failed',
          attempts: 0,
          waitsFor: [],
        });
      }
    });

    test(`a dependent with policy ${policy} is ${status} when an operator ends its waiting parent`, async () => {
      const queue = stage.queue();
      for (const call of ['bury', 'cancel', 'delete'] as const) {
        const parent = await stage.add(queue, { due: { inMs: HOUR } });
        const child = await stage.add(queue, after([parent], policy));
        expect(await stage.storage[call](parent)).toBe('done');
        expect(await stage.statuses([child])).toEqual([status]);
      }
    });

    test(`a dependent with policy ${policy} is ${status} when a stop request ends its running parent`, async () => {
      const queue = stage.queue();
      for (const call of ['bury', 'cancel', 'delete'] as const) {
        const parent = await stage.running(queue);
        const child = await stage.add(queue, { due: { inMs: HOUR }, ...after([parent.id], policy) });
        await stage.storage[call](parent.id);
        expect(await stage.statuses([child])).toEqual(['blocked']);
        await stage.settle(parent, { kind: 'snoozed', delayMs: 0 });
        expect(await stage.statuses([child])).toEqual([status]);
      }
    });

    test(`a dependent with policy ${policy} is ${status} when its parent is found to be poison`, async () => {
      const queue = stage.queue();
      const parent = await stage.running(queue);
      const child = await stage.add(queue, after([parent.id], policy));
      await stage.storage.takeBack([{ ...(await stage.lapse(queue)), kind: 'poison', errors: failure() }]);
      expect(await stage.statuses([child])).toEqual([status]);
    });

    test(`a dependent with policy ${policy} is born ${status} when a parent had already failed`, async () => {
      const queue = stage.queue();
      for (const verdict of [buried, cancelled]) {
        const parent = await stage.ended(queue, verdict);
        const open = await stage.add(queue, { due: { inMs: HOUR } });
        const child = await stage.add(queue, { due: { inMs: HOUR }, ...after([parent.id], policy) });
        const both = await stage.add(queue, { due: { inMs: HOUR }, ...after([open, parent.id], policy) });
        expect(await stage.statuses([child, both])).toEqual([status, policy === 'run' ? 'blocked' : status]);
        if (policy !== 'run') expect((await stage.record(child)).reason).toBe('parent-failed');
      }
    });
  }

  test('a dependent of a completed parent is pending from the start', async () => {
    const queue = stage.queue();
    const parent = await stage.ended(queue, done);
    const child = await stage.add(queue, after([parent.id]));
    expect(await stage.claimIds(queue)).toEqual([child]);
  });

  test('one failed parent ends a dependent at once, whatever the others do later', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 2);
    const [one, two] = await stage.claim(queue);
    if (!one || !two) throw new Error('two jobs');
    const child = await stage.add(queue, after([one.id, two.id], 'cancel'));
    await stage.settle(one, buried);
    const before = await stage.record(child);
    expect(before.status).toBe('cancelled');
    await stage.settle(two);
    expect(await stage.record(child)).toEqual(before);
  });

  test('a failure runs down through every level, by the policy of each', async () => {
    const queue = stage.queue();
    const root = await stage.running(queue);
    const first = await stage.add(queue, after([root.id], 'bury'));
    const second = await stage.add(queue, after([first], 'cancel'));
    const third = await stage.add(queue, after([second], 'bury'));
    const runs = await stage.add(queue, after([second, third], 'run'));
    const beneath = await stage.add(queue, after([runs]));
    await stage.settle(root, buried);
    expect(await stage.statuses([first, second, third, runs, beneath])).toEqual([
      'buried',
      'cancelled',
      'buried',
      'pending',
      'blocked',
    ]);
    expect(await stage.stats(queue)).toMatchObject({ buried: 3, cancelled: 1, blocked: 1, pending: 1 });
  });

  test('a chain of two hundred falls whole', async () => {
    const queue = stage.queue();
    const jobs = stage.newJobs(queue, 200);
    const chain = jobs.map((job, index) =>
      index === 0 ? job : { ...job, ...after([jobs[index - 1]?.id ?? '']) },
    );
    await stage.storage.enqueue(chain);
    await stage.storage.cancel(jobs[0]?.id ?? '');
    expect(await stage.stats(queue)).toMatchObject({ cancelled: 1, buried: 199, blocked: 0 });
  });

  test('a parent of five hundred releases them all', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    const ids = await stage.addMany(queue, 500, after([parent.id]));
    await stage.settle(parent);
    expect(await stage.claimIds(queue, { limit: 1_000 })).toEqual(ids);
  });

  test('a batch that ends many parents of one job releases it once', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 50);
    const claimed = await stage.claim(queue);
    const child = await stage.add(queue, after(ids));
    const outcomes = await stage.storage.settle(claimed.map((job) => settlement(job)));
    expect(new Set(outcomes)).toEqual(new Set(['done']));
    expect(await stage.claimIds(queue)).toEqual([child]);
  });

  test('one batch may end parents well and badly, and jobs without dependents', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 4);
    const [good, bad, plain, lost] = await stage.claim(queue);
    if (!good || !bad || !plain || !lost) throw new Error('four jobs');
    const [ofGood, ofBad, ofLost] = [
      await stage.add(queue, after([good.id])),
      await stage.add(queue, after([bad.id])),
      await stage.add(queue, after([lost.id])),
    ];
    const outcomes = await stage.storage.settle([
      settlement(bad, buried),
      settlement({ id: lost.id, token: stage.token() }),
      settlement(plain),
      settlement(good),
    ]);
    expect(outcomes).toEqual(['done', 'lease-lost', 'done', 'done']);
    expect(await stage.statuses([ofGood, ofBad, ofLost])).toEqual(['pending', 'buried', 'blocked']);
  });

  test('a repeat of a settlement that released a dependent releases nothing again', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    const child = await stage.add(queue, after([parent.id]));
    await stage.settle(parent);
    await stage.settle(await stage.claimOne(queue));
    expect(await stage.settle(parent)).toBe('done');
    expect(await stage.statuses([child])).toEqual(['completed']);
  });

  test('an ending counts once: a parent that is retried makes nobody wait again', async () => {
    const queue = stage.queue();
    const failed = await stage.ended(queue, buried);
    const other = await stage.running(queue);
    const child = await stage.add(queue, after([failed.id, other.id], 'run'));
    await stage.storage.retry(failed.id);
    expect((await stage.record(child)).waitsFor).toEqual([other.id]);
    await stage.settle(other);
    expect(await stage.statuses([child])).toEqual(['pending']);
  });

  test('a retried parent that completes does not revive the dependents it took down', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    const child = await stage.add(queue, after([parent.id]));
    await stage.settle(parent, buried);
    await stage.storage.retry(parent.id);
    await stage.settle(await stage.claimOne(queue));
    expect(await stage.statuses([child])).toEqual(['buried']);
    expect(await stage.storage.retry(child)).toBe('done');
    expect(await stage.claimIds(queue)).toEqual([child]);
  });

  test('deleting a parent that had ended leaves what waits for others waiting', async () => {
    const queue = stage.queue();
    const parent = await stage.ended(queue, done);
    const other = await stage.running(queue);
    const child = await stage.add(queue, after([parent.id, other.id]));
    expect(await stage.storage.delete(parent.id)).toBe('done');
    expect(await stage.statuses([child])).toEqual(['blocked']);
    await stage.settle(other);
    expect(await stage.statuses([child])).toEqual(['pending']);
  });

  test('deleting a blocked job leaves its parents and their other dependents alone', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    const [gone, kept] = await stage.addMany(queue, 2, after([parent.id]));
    await stage.storage.delete(gone ?? '');
    expect(await stage.settle(parent)).toBe('done');
    expect(await stage.claimIds(queue)).toEqual([kept]);
  });

  test('a dependent enqueued while its parent ends never waits for ever', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    for (let round = 0; round < 15; round += 1) {
      const parent = await stage.running(queue);
      const jobs = stage.newJobs(queue, 3, after([parent.id]));
      const [, ...outcomes] = await Promise.all([
        stage.settle(parent),
        ...jobs.map((job) => other.storage.enqueue([job])),
      ]);
      expect(outcomes.flat().map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
      expect(sorted(await stage.claimIds(queue))).toEqual(sorted(jobs.map(({ id }) => id)));
    }
  });

  test('parents of one job that end at the same instant release it', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    for (let round = 0; round < 15; round += 1) {
      await stage.addMany(queue, 2);
      const [one, two] = await stage.claim(queue);
      if (!one || !two) throw new Error('two jobs');
      const child = await stage.add(queue, after([one.id, two.id]));
      await Promise.all([stage.settle(one), other.storage.settle([settlement(two)])]);
      expect(await stage.claimIds(queue)).toEqual([child]);
    }
  });

  test('many batches that end parents of common dependents in any order all go through', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 40);
    const claimed = await stage.claim(queue);
    const children: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      const parents = ids.filter((_, at) => at % 20 === index || at % 7 === index % 7);
      children.push(await stage.add(queue, after(parents)));
    }
    const settleSome = (storage: typeof stage.storage, part: number) => {
      const mine = claimed.filter((_, at) => at % 4 === part).map((job) => settlement(job));
      return storage.settle(part % 2 === 0 ? mine : mine.reverse());
    };
    const outcomes = await Promise.all(
      [0, 1, 2, 3].map((part) => settleSome(part < 2 ? stage.storage : other.storage, part)),
    );
    expect(new Set(outcomes.flat())).toEqual(new Set(['done']));
    expect(await stage.claimIds(queue)).toEqual(children);
  });
}
