import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { FailedParentPolicy } from '../../src/storage/new-job.js';
import { done, failure, HOUR, MINUTE, type Stage, settlement, sorted, type Verdict } from './stage.js';

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

  test('a dependent of a completed parent is pending from the start', async () => {
    const queue = stage.queue();
    const parent = await stage.ended(queue, done);
    const child = await stage.add(queue, after([parent.id]));
    expect(await stage.claimIds(queue)).toEqual([child]);
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

  test('a repeat of a settlement that released a dependent releases nothing again', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    const child = await stage.add(queue, after([parent.id]));
    await stage.settle(parent);
    await stage.settle(await stage.claimOne(queue));
    expect(await stage.settle(parent)).toBe('done');
    expect(await stage.statuses([child])).toEqual(['completed']);
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
