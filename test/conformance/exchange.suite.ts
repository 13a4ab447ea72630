import { expect, test } from 'vitest';
import { type Stage, settlement } from './stage.js';

export function exchangeSuite(stage: Stage): void {
  test('an exchange settles first and claims what that frees', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const next = await stage.add(queue);
    const retry = settlement(job, { kind: 'put-back', delayMs: 0, reason: 'later' });
    const { settled, claimed } = await stage.storage.exchange([retry], stage.request(queue));
    expect(settled).toEqual(['done']);
    expect(claimed.map(({ id }) => id)).toEqual([job.id, next]);
  });

  test('an exchange repeated after its answer was lost gives the same answer', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    await stage.addMany(queue, 4);
    const request = stage.request(queue, { limit: 2 });
    const first = await stage.storage.exchange([settlement(job)], request);
    const again = await stage.storage.exchange([settlement(job)], request);
    expect(again.settled).toEqual(['done']);
    expect(new Set(again.claimed.map(({ id }) => id))).toEqual(new Set(first.claimed.map(({ id }) => id)));
    expect(await stage.stats(queue)).toMatchObject({ claimable: 2, processing: 2, completed: 1 });
  });

  test('an exchange with nothing to settle or nothing to take does the other half', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue);
    const taken = await stage.storage.exchange([], stage.request(queue));
    expect([taken.settled, taken.claimed.map((job) => job.id)]).toEqual([[], [id]]);
    const job = taken.claimed[0];
    if (!job) throw new Error('one job');
    expect(await stage.storage.exchange([settlement(job)], stage.request(queue))).toEqual({
      settled: ['done'],
      claimed: [],
    });
  });
}
