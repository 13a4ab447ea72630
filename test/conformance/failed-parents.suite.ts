import { expect, test } from 'vitest';
import type { FailedParentPolicy } from '../../src/storage/new-job.js';
import { failure, HOUR, type Stage, settlement } from './stage.js';
import { buried, cancelled } from './verdicts.js';

const outcomeOf = { bury: 'buried', cancel: 'cancelled', run: 'pending' } as const;
const policies = ['bury', 'cancel', 'run'] as const;

export function failedParentsSuite(stage: Stage): void {
  const after = (ids: readonly string[], onFailure: FailedParentPolicy = 'bury') => ({
    after: { ids, onFailure },
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
          waitedFor: policy === 'run' ? [] : [parent.id],
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
}
