import { expect, test } from 'vitest';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';
import type { Budgets } from '../../src/storage/job-limit.js';
import { done, failure, HOUR, type Stage, type Verdict } from './stage.js';

export function budgetsSuite(stage: Stage): void {
  const ofQueue = (queue: string, units: number): Budgets => ({ queues: { [queue]: units }, groups: {} });
  const ofGroup = (group: string, units: number): Budgets => ({ queues: {}, groups: { [group]: units } });
  const costs = (jobs: readonly ClaimedJob[]): number[] => jobs.map(({ cost }) => cost);

  test('what runs of a queue costs no more than its budget, ordinary jobs included', async () => {
    const queue = stage.queue();
    await stage.add(queue, { cost: 4 });
    await stage.addMany(queue, 3);
    const budgets = ofQueue(queue, 6);
    const claimed = await stage.claim(queue, { budgets });
    expect(costs(claimed)).toEqual([4, 1, 1]);
    expect(await stage.claim(queue, { budgets })).toEqual([]);
    await stage.settle(claimed[2] as ClaimedJob);
    expect(costs(await stage.claim(queue, { budgets }))).toEqual([1]);
  });

  const endings: Verdict[] = [
    done,
    { kind: 'retry', delayMs: HOUR, errors: failure() },
    { kind: 'put-back', delayMs: HOUR, reason: 'drained' },
    { kind: 'buried', reason: 'poison', errors: failure() },
  ];

  test.each(endings)('an attempt that ends by $kind gives its cost free', async (verdict) => {
    const queue = stage.queue();
    await stage.addMany(queue, 2, { cost: 3 });
    const budgets = ofQueue(queue, 5);
    const [held, ...others] = await stage.claim(queue, { budgets });
    expect(others).toEqual([]);
    await stage.settle(held as ClaimedJob, verdict);
    expect(await stage.claim(queue, { budgets })).toHaveLength(1);
  });

  test('a job above the whole budget never runs and hides no other', async () => {
    const queue = stage.queue();
    const budgets = ofQueue(queue, 5);
    await stage.addMany(queue, 20, { cost: 6, priority: 10 });
    await stage.add(queue, { cost: 5 });
    expect(costs(await stage.claim(queue, { budgets }))).toEqual([5]);
    expect(await stage.claim(queue, { budgets })).toEqual([]);
  });

  test('a job that does not fit in what is left lets smaller ones behind it run', async () => {
    const queue = stage.queue();
    const budgets = ofQueue(queue, 10);
    for (const cost of [7, 7, 2, 2, 1]) await stage.add(queue, { cost });
    expect(costs(await stage.claim(queue, { budgets }))).toEqual([7, 2, 1]);
  });

  test('a budget of a group is shared by its keys and holds in every queue', async () => {
    const [one, two, group] = [stage.queue(), stage.queue(), stage.queue()];
    const budgets = ofGroup(group, 10);
    await stage.add(one, { limit: { group, key: 'a', max: 5 }, cost: 6 });
    await stage.add(one, { limit: { group, key: 'b', max: 5 }, cost: 6 });
    await stage.add(two, { limit: { group, key: null, max: null }, cost: 4 });
    expect(costs(await stage.claim(one, { budgets }))).toEqual([6]);
    expect(costs(await stage.claim(two, { budgets }))).toEqual([4]);
    expect(await stage.claim([one, two], { budgets })).toEqual([]);
  });

  test('a budget of a group counts what runs of it, whoever claimed it', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 3, { limit: { group, key: null, max: null }, cost: 5 });
    expect(await stage.claim(queue, { limit: 1 })).toHaveLength(1);
    expect(await stage.claim(queue, { budgets: ofGroup(group, 9) })).toEqual([]);
    expect(await stage.claim(queue, { budgets: ofGroup(group, 10) })).toHaveLength(1);
  });

  test('a budget of a queue counts what was claimed under one', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 6);
    expect(await stage.claimIds(queue, { limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await stage.claimIds(queue, { budgets: ofQueue(queue, 3) })).toEqual(ids.slice(2, 5));
  });

  test('a job of a group counts towards the budget of its queue only if it was claimed under one', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 4, { cost: 2, limit: { group, key: null, max: null } });
    expect(await stage.claim(queue, { limit: 2 })).toHaveLength(2);
    expect(await stage.claim(queue, { budgets: ofQueue(queue, 3) })).toHaveLength(1);
    expect(await stage.claim(queue, { budgets: ofQueue(queue, 3) })).toEqual([]);
  });

  test('other queues are not bound by it', async () => {
    const [bound, free] = [stage.queue(), stage.queue()];
    await stage.addMany(bound, 5);
    await stage.addMany(free, 5);
    const claimed = await stage.claim([bound, free], { budgets: ofQueue(bound, 2) });
    expect(claimed.map(({ queue }) => (queue === bound ? 'bound' : 'free'))).toEqual([
      ...Array<string>(2).fill('bound'),
      ...Array<string>(5).fill('free'),
    ]);
  });

  test('jobs of a queue with a budget are started at once, and a buffer is not filled past them', async () => {
    const [bound, free] = [stage.queue(), stage.queue()];
    await stage.addMany(bound, 5);
    await stage.addMany(free, 5);
    const request = { budgets: ofQueue(bound, 4), limit: 20 };
    const claimed = await stage.claim([bound, free], { ...request, start: 3 });
    expect(claimed.map(({ queue, started }) => [queue, started])).toEqual(Array(3).fill([bound, true]));
    // The last one uses the budget up: what stands there then can't run, so it holds nothing up.
    const rest = await stage.claim([bound, free], { ...request, start: 1 });
    expect(rest.map(({ queue, started }) => [queue, started])).toEqual([
      [bound, true],
      ...Array(5).fill([free, false]),
    ]);
  });

  test('a limit and two budgets hold together', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const limit = { group, key: null, max: 3 };
    await stage.addMany(queue, 5, { limit, cost: 2 });
    await stage.addMany(queue, 5, { cost: 2 });
    const budgets: Budgets = { queues: { [queue]: 9 }, groups: { [group]: 5 } };
    const claimed = await stage.claim(queue, { budgets });
    expect(claimed.map((job) => job.limit?.group ?? null)).toEqual([group, group, null, null]);
  });

  test('a job that must run alone keeps to the budget of its queue', async () => {
    const queue = stage.queue();
    const budgets = ofQueue(queue, 5);
    const alone = await stage.add(queue, { cost: 3 });
    await stage.settle(await stage.claimOne(queue), {
      kind: 'died',
      delayMs: 0,
      alone: true,
      errors: failure(),
    });
    await stage.addMany(queue, 2, { cost: 3 });
    const held = await stage.claimOne(queue, { budgets });
    expect(await stage.claim(queue, { budgets, alone: true })).toEqual([]);
    await stage.settle(held);
    expect(await stage.claimIds(queue, { budgets, alone: true })).toEqual([alone]);
    expect(await stage.claim(queue, { budgets })).toEqual([]);
  });

  test('an abandoned lease costs until it is taken back', async () => {
    const queue = stage.queue();
    const budgets = ofQueue(queue, 1);
    const [one, two] = await stage.addMany(queue, 2);
    expect(await stage.claimIds(queue, { budgets })).toEqual([one]);
    const { id, token, leaseUntilMs } = await stage.lapse(queue);
    expect(await stage.claim(queue, { budgets })).toEqual([]);
    const death = { kind: 'died', delayMs: HOUR, alone: false, errors: failure() } as const;
    await stage.storage.takeBack([{ id, token, leaseUntilMs, ...death }]);
    expect(await stage.claimIds(queue, { budgets })).toEqual([two]);
  });

  test('a repeat of a claim under a budget takes no more', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 6);
    const request = stage.request(queue, { limit: 2, start: 2, budgets: ofQueue(queue, 3) });
    expect(await stage.storage.claim(request)).toHaveLength(2);
    expect(await stage.storage.claim(request)).toHaveLength(2);
    expect(await stage.claim(queue, { budgets: ofQueue(queue, 3) })).toHaveLength(1);
  });

  test('peek leaves out what a budget keeps', async () => {
    const queue = stage.queue();
    const budgets = ofQueue(queue, 2);
    const peek = async () => (await stage.storage.peek(stage.request(queue, { budgets }))).dueInMs;
    await stage.addMany(queue, 3);
    expect(await peek()).toBe(0);
    const claimed = await stage.claim(queue, { budgets });
    expect(claimed).toHaveLength(2);
    expect(await peek()).toBeNull();
    await stage.settle(claimed[0] as ClaimedJob);
    expect(await peek()).toBe(0);
  });
}
