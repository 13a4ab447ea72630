import { expect, test } from 'vitest';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';
import type { Budgets } from '../../src/storage/job-limit.js';
import type { Storage } from '../../src/storage/storage.js';
import { Random } from '../model/random.js';
import { failure, type Stage, settlement } from './stage.js';

const claimers = 16;
const rounds = 4;
const workers = 6;

export function contentionSuite(stage: Stage): void {
  test('sixteen that claim at once on a free limit of three get exactly three', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 60, { limit: { group, key: null, max: 3 } });
    await using herd = await open(stage, claimers);
    for (let round = 0; round < rounds; round += 1) {
      const claims = herd.storages.map((storage) => storage.claim(stage.request(queue, { limit: 5 })));
      const claimed = (await Promise.all(claims)).flat();
      expect(new Set(claimed.map(({ id }) => id)).size).toBe(3);
      expect(claimed).toHaveLength(3);
      await stage.storage.settle(claimed.map((job) => settlement(job)));
    }
  });

  test('sixteen that claim at once under a budget take exactly what it allows', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 60, { cost: 2 });
    const budgets: Budgets = { queues: { [queue]: 9 }, groups: {} };
    await using herd = await open(stage, claimers);
    for (let round = 0; round < rounds; round += 1) {
      const claims = herd.storages.map((storage) => storage.claim(stage.request(queue, { budgets })));
      const claimed = (await Promise.all(claims)).flat();
      expect(claimed).toHaveLength(4);
      await stage.storage.settle(claimed.map((job) => settlement(job)));
    }
  });

  test('claims, settlements and exchanges of many workers never pass a limit or a budget, and end every job', async () => {
    const [queue, one, two] = [stage.queue(), stage.queue(), stage.queue()];
    const budgets: Budgets = { queues: {}, groups: { [two]: 5 } };
    const keys = ['a', 'b', 'c'];
    for (const key of keys) await stage.addMany(queue, 20, { limit: { group: one, key, max: 2 } });
    await stage.addMany(queue, 20, { limit: { group: two, key: null, max: null }, cost: 2 });
    await stage.addMany(queue, 20);
    await using herd = await open(stage, workers);
    const running = new Map<string, ClaimedJob>();
    const judge = (): void => {
      const held = [...running.values()];
      for (const key of keys) {
        const ofKey = held.filter(({ limit }) => limit?.group === one && limit.key === key);
        expect(ofKey.length, `running of ${key}`).toBeLessThanOrEqual(2);
      }
      const cost = held.reduce((sum, job) => sum + (job.limit?.group === two ? job.cost : 0), 0);
      expect(cost, 'running cost').toBeLessThanOrEqual(5);
    };
    let ended = 0;
    const work = async (storage: Storage, random: Random): Promise<void> => {
      let held: ClaimedJob[] = [];
      while (ended < 100) {
        const settlements = held.map((job) =>
          random.chance(0.2) && job.attempts === 0
            ? settlement(job, { kind: 'retry', delayMs: 0, errors: failure() })
            : settlement(job),
        );
        for (const { id, kind } of settlements) {
          running.delete(id);
          if (kind === 'completed') ended += 1;
        }
        const request = stage.request(queue, { limit: random.between(1, 4), budgets });
        if (random.chance(0.5)) {
          await storage.settle(settlements);
          held = await storage.claim(request);
        } else held = (await storage.exchange(settlements, request)).claimed;
        for (const job of held) running.set(job.id, job);
        judge();
      }
      for (const job of held) running.delete(job.id);
      await storage.settle(held.map((job) => settlement(job)));
    };
    await Promise.all(herd.storages.map((storage, index) => work(storage, new Random(index + 1))));
    expect(await stage.stats(queue)).toMatchObject({ pending: 0, processing: 0, completed: 100 });
    expect((await stage.storage.limits()).filter(({ group }) => group === one || group === two)).toEqual([]);
  });
}

async function open(stage: Stage, count: number): Promise<{ storages: Storage[] } & AsyncDisposable> {
  const opened = await Promise.all(Array.from({ length: count }, () => stage.another()));
  return {
    storages: opened.map(({ storage }) => storage),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map((one) => one[Symbol.asyncDispose]()));
    },
  };
}
