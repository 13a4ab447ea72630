import { expect, test } from 'vitest';
import { HOUR, type Stage } from './stage.js';

export function labelsSuite(stage: Stage): void {
  test('a job runs only where all its labels are', async () => {
    const queue = stage.queue();
    const gpu = await stage.add(queue, { requires: ['gpu'] });
    const both = await stage.add(queue, { requires: ['eu', 'gpu'] });
    const plain = await stage.add(queue);
    expect(await stage.claimIds(queue)).toEqual([plain]);
    expect(await stage.claim(queue, { labels: ['eu'] })).toEqual([]);
    expect(await stage.claim(queue, { labels: ['GPU'] })).toEqual([]);
    expect(await stage.claimIds(queue, { labels: ['gpu'] })).toEqual([gpu]);
    expect(await stage.claimIds(queue, { labels: ['x', 'gpu', 'eu'] })).toEqual([both]);
  });

  test('jobs whose labels are missing hide no others', async () => {
    const [queue, later] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 50, { requires: ['gpu'], priority: 50 });
    const behind = await stage.add(queue, { requires: ['eu'] });
    const other = await stage.add(later);
    expect(await stage.claimIds([queue, later], { labels: ['eu'] })).toEqual([behind, other]);
  });

  test('labelled and ordinary jobs come in one order, labelled ones started at once', async () => {
    const queue = stage.queue();
    const first = await stage.add(queue, { requires: ['eu'] });
    const second = await stage.add(queue);
    const third = await stage.add(queue, { requires: ['eu', 'gpu'] });
    const behind = await stage.add(queue);
    const labels = ['eu', 'gpu'];
    const claimed = await stage.claim(queue, { labels, limit: 10, start: 2 });
    expect(claimed.map(({ id, started }) => [id, started])).toEqual([
      [first, true],
      [second, true],
    ]);
    expect(await stage.claimIds(queue, { labels })).toEqual([third, behind]);
  });

  test('a label is text', async () => {
    const queue = stage.queue();
    const labels = ["o'neill", '100%', 'ä/ö', '["x"]', 'x'.repeat(100)];
    for (const label of labels) {
      const id = await stage.add(queue, { requires: [label] });
      expect(await stage.claim(queue, { labels: [label.slice(0, -1)] })).toEqual([]);
      expect(await stage.claimIds(queue, { labels: [label] })).toEqual([id]);
    }
  });

  test('labels go with a limit and a cost', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const limit = { group, key: null, max: 1 };
    await stage.addMany(queue, 2, { limit, requires: ['gpu'], cost: 2 });
    const plain = await stage.add(queue, { limit });
    expect(await stage.claimIds(queue)).toEqual([plain]);
    expect(await stage.claim(queue, { labels: ['gpu'] })).toEqual([]);
  });

  test('a job that must run alone runs where its labels are', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue, { requires: ['gpu'] });
    const labels = ['gpu'];
    await stage.settle(await stage.claimOne(queue, { labels }), {
      kind: 'died',
      delayMs: 0,
      alone: true,
      errors: '[]',
    });
    expect(await stage.claim(queue, { alone: true })).toEqual([]);
    expect(await stage.storage.peek(stage.request(queue))).toEqual({ dueInMs: null, aloneDue: false });
    expect(await stage.storage.peek(stage.request(queue, { labels }))).toEqual({
      dueInMs: null,
      aloneDue: true,
    });
    expect(await stage.claimIds(queue, { alone: true, labels })).toEqual([id]);
  });

  test('peek leaves out what lacks a label here, due or not', async () => {
    const queue = stage.queue();
    await stage.add(queue, { requires: ['gpu'] });
    await stage.add(queue, { requires: ['gpu'], due: { inMs: HOUR } });
    expect((await stage.storage.peek(stage.request(queue))).dueInMs).toBeNull();
    expect((await stage.storage.peek(stage.request(queue, { labels: ['gpu'] }))).dueInMs).toBe(0);
  });
}
