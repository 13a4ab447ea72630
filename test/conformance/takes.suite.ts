import { expect, test } from 'vitest';
import type { Take } from '../../src/storage/claimed-job.js';
import { HOUR, type Stage, sorted } from './stage.js';

export function takesSuite(stage: Stage): void {
  const take = (queues: string | string[], names: string[], limit: number, start = limit): Take => ({
    queues: typeof queues === 'string' ? [queues] : queues,
    names,
    limit,
    start,
  });

  test('a claim of several takes answers each by its own names and numbers, one after the other', async () => {
    const queue = stage.queue();
    const slow = await stage.addMany(queue, 4, { name: 'slow' });
    const quick = await stage.addMany(queue, 4, { name: 'quick' });
    const takes = [take(queue, ['quick'], 3, 1), take(queue, ['slow'], 2)];
    const claimed = await stage.claim([], { takes });
    expect(claimed.map(({ id, started }) => [id, started])).toEqual([
      [quick[0], true],
      [quick[1], false],
      [quick[2], false],
      [slow[0], true],
      [slow[1], true],
    ]);
  });

  test('what one take leaves is not given to another', async () => {
    const [one, two] = [stage.queue(), stage.queue()];
    const first = await stage.addMany(one, 1);
    const second = await stage.addMany(two, 5);
    const takes = [take(one, ['work'], 3), take(two, ['work'], 2)];
    expect(await stage.claimIds([], { takes })).toEqual([...first, ...second.slice(0, 2)]);
  });

  test('takes of several queues each keep their order', async () => {
    const queues = [stage.queue(), stage.queue(), stage.queue(), stage.queue()];
    const [a = '', b = '', c = '', d = ''] = queues;
    const ids = new Map<string, string>();
    for (const queue of queues) ids.set(queue, await stage.add(queue));
    const takes = [take([d, b], ['work'], 5), take([c, a], ['work'], 5)];
    expect(await stage.claimIds([], { takes })).toEqual([d, b, c, a].map((queue) => ids.get(queue)));
  });

  test('a buffer is filled past a line of which one job was started, also where there are many lines', async () => {
    const [lined, plain] = [stage.queue(), stage.queue()];
    for (let cost = 2; cost <= 14; cost += 1) await stage.add(lined, { cost, due: { inMs: HOUR } });
    const bounded = await stage.add(lined, { cost: 20 });
    const ordinary = await stage.add(plain);
    const claimed = await stage.claim([], { takes: [take([lined, plain], ['work'], 2, 1)] });
    expect(claimed.map(({ id, started }) => [id, started])).toEqual([
      [bounded, true],
      [ordinary, false],
    ]);
  });

  test('takes share limits and budgets', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const limit = { group, key: null, max: 3 };
    await stage.addMany(queue, 2, { name: 'quick', limit });
    await stage.addMany(queue, 3, { name: 'slow', limit });
    const takes = [take(queue, ['quick'], 5), take(queue, ['slow'], 5)];
    expect((await stage.claim([], { takes })).map(({ name }) => name)).toEqual(['quick', 'quick', 'slow']);

    const other = stage.queue();
    await stage.addMany(other, 2, { name: 'quick' });
    await stage.addMany(other, 3, { name: 'slow' });
    const budgets = { queues: { [other]: 4 }, groups: {} };
    const both = [take(other, ['quick'], 5), take(other, ['slow'], 5)];
    expect(await stage.claim([], { takes: both, budgets })).toHaveLength(4);
  });

  test('a take that ends before a job that must be started ends no other take', async () => {
    const [one, two] = [stage.queue(), stage.queue()];
    await stage.add(one, { limit: { group: stage.queue(), key: null, max: 1 } });
    const plain = await stage.add(two);
    const takes = [take(one, ['work'], 5, 0), take(two, ['work'], 5)];
    expect(await stage.claimIds([], { takes })).toEqual([plain]);
  });

  test('a repeat answers with what all its takes took, and takes no more', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 3, { name: 'quick' });
    await stage.addMany(queue, 3, { name: 'slow' });
    const takes = [take(queue, ['quick'], 2), take(queue, ['slow'], 2)];
    const request = stage.request([], { takes });
    const first = await stage.storage.claim(request);
    expect(first).toHaveLength(4);
    const again = await stage.storage.claim(request);
    expect(sorted(again.map(({ id }) => id))).toEqual(sorted(first.map(({ id }) => id)));
    expect((await stage.stats(queue)).processing).toBe(4);
  });

  test('an exchange takes several takes too', async () => {
    const queue = stage.queue();
    await stage.add(queue, { name: 'quick' });
    const [held] = await stage.claim(queue, { names: ['quick'] });
    await stage.addMany(queue, 1, { name: 'quick' });
    await stage.addMany(queue, 1, { name: 'slow' });
    const request = stage.request([], { takes: [take(queue, ['slow'], 5), take(queue, ['quick'], 5)] });
    const settlement = {
      id: held?.id ?? '',
      token: held?.token ?? '',
      kind: 'completed',
      result: null,
    } as const;
    const answer = await stage.storage.exchange([settlement], request);
    expect(answer.settled).toEqual(['done']);
    expect(answer.claimed.map(({ name }) => name)).toEqual(['slow', 'quick']);
  });

  test('peek answers for all its takes', async () => {
    const [one, two] = [stage.queue(), stage.queue()];
    await stage.add(two, { name: 'slow' });
    const takes = [take(one, ['work'], 5), take(two, ['slow'], 5)];
    expect((await stage.storage.peek(stage.request([], { takes }))).dueInMs).toBe(0);
    const others = [take(one, ['slow'], 5), take(two, ['work'], 5)];
    expect((await stage.storage.peek(stage.request([], { takes: others }))).dueInMs).toBeNull();
  });

  test('sixteen takes are answered in one claim', async () => {
    const queue = stage.queue();
    const names = Array.from({ length: 16 }, (_, index) => `name-${index}`);
    for (const name of names) await stage.addMany(queue, 2, { name });
    const takes = names.map((name) => take(queue, [name], 1));
    expect((await stage.claim([], { takes })).map(({ name }) => name)).toEqual(names);
  });
}
