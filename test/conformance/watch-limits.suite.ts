import { test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { failure, HOUR, type Stage } from './stage.js';

export function watchLimitsSuite(stage: Stage): void {
  test('watchers learn that a place under a limit is free', async () => {
    const [queue, other, group] = [stage.queue(), stage.queue(), stage.queue()];
    const limit = { group, key: null, max: 1 };
    await stage.add(queue, { limit });
    await stage.add(other, { limit });
    const held = await stage.claimOne(queue);
    await using woken = await listen(stage, other);
    await stage.settle(held);
    await woken.told();
  });

  test('watchers learn that a lease under a limit was taken back', async () => {
    const [queue, other, group] = [stage.queue(), stage.queue(), stage.queue()];
    const limit = { group, key: null, max: 1 };
    await stage.add(queue, { limit });
    await stage.add(other, { limit });
    await stage.claimOne(queue);
    const { id, token, leaseUntilMs } = await stage.lapse(queue);
    await using woken = await listen(stage, other);
    const death = { kind: 'died', delayMs: HOUR, alone: false, errors: failure() } as const;
    await stage.storage.takeBack([{ id, token, leaseUntilMs, ...death }]);
    await woken.told();
  });

  test('watchers learn that part of a budget is free', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 2);
    const held = await stage.claimOne(queue, { limit: 1, budgets: { queues: { [queue]: 1 }, groups: {} } });
    await using woken = await listen(stage, queue);
    await stage.settle(held);
    await woken.told();
  });
}

/** Engines without pushes tell nobody; a poll finds it there. */
async function listen(stage: Stage, queue: string): Promise<{ told: () => Promise<void> } & AsyncDisposable> {
  if (!stage.storage.capabilities.push) {
    return { told: () => Promise.resolve(), [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  let isTold = false;
  const watch = await stage.storage.watch((queues) => {
    if (queues === null || queues.includes(queue)) isTold = true;
  });
  return {
    told: () => waitFor(() => isTold, { describe: `a wake-up for ${queue}` }).then(() => undefined),
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  };
}
