import { expect, test } from 'vitest';
import { waitFor } from '../support/wait-for.js';
import { failure, type Stage } from './stage.js';

/** Wake-ups are hints. Where the engine promises that they come by themselves (`push`), they must come; elsewhere only what was written by the same object is sure to be heard of. */
export function watchSuite(stage: Stage): void {
  const heard = (calls: (readonly string[] | null)[], queue: string) =>
    calls.some((queues) => queues === null || queues.includes(queue));

  test('a watcher hears of a job that was enqueued', async () => {
    const queue = stage.queue();
    const calls: (readonly string[] | null)[] = [];
    await using _ = await stage.storage.watch((queues) => calls.push(queues));
    await stage.add(queue);
    await waitFor(() => heard(calls, queue), { describe: 'a wake-up after enqueue' });
  });

  test('a watcher hears of a job that another object enqueued, where the engine pushes', async ({ skip }) => {
    skip(!stage.storage.capabilities.push, 'this engine is polled');
    await using other = await stage.another();
    const queue = stage.queue();
    const calls: (readonly string[] | null)[] = [];
    await using _ = await stage.storage.watch((queues) => calls.push(queues));
    await other.storage.enqueue([stage.newJob(queue)]);
    await waitFor(() => heard(calls, queue), { describe: 'a wake-up after enqueue elsewhere' });
  });

  test('a watcher hears of a dependent that was released and of a job that was retried', async () => {
    const queue = stage.queue();
    const parent = await stage.running(queue);
    await stage.add(queue, { after: { ids: [parent.id], onFailure: 'bury' } });
    const calls: (readonly string[] | null)[] = [];
    await using _ = await stage.storage.watch((queues) => calls.push(queues));
    await stage.settle(parent);
    await waitFor(() => heard(calls, queue), { describe: 'a wake-up after a release' });
    const job = await stage.claimOne(queue);
    await stage.settle(job, { kind: 'buried', reason: 'non-retriable', errors: failure() });
    calls.length = 0;
    await stage.storage.retry(job.id);
    await waitFor(() => heard(calls, queue), { describe: 'a wake-up after a retry' });
  });

  test('several watchers hear, and one that has left hears no more', async () => {
    const calls: Record<'left' | 'stays', (readonly string[] | null)[]> = { left: [], stays: [] };
    const left = await stage.storage.watch((queues) => calls.left.push(queues));
    await using _ = await stage.storage.watch((queues) => calls.stays.push(queues));
    const [first, second] = [stage.queue(), stage.queue()];
    await stage.add(first);
    await waitFor(() => heard(calls.left, first) && heard(calls.stays, first), { describe: 'both wake-ups' });
    await left[Symbol.asyncDispose]();
    await left[Symbol.asyncDispose]();
    const before = calls.left.length;
    await stage.add(second);
    await waitFor(() => heard(calls.stays, second), { describe: 'a wake-up of the one that stayed' });
    expect(calls.left).toHaveLength(before);
  });
}
