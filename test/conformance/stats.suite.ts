import { expect, test } from 'vitest';
import { peekAt } from '../support/claim-request.js';
import { jobsOfEveryStatus } from './jobs-of-every-status.js';
import { done, expectAbout, failure, HOUR, MINUTE, type Stage } from './stage.js';
import { buried } from './verdicts.js';

const statusOrder = ['processing', 'pending', 'blocked', 'buried', 'cancelled', 'completed'];

export function statsSuite(stage: Stage): void {
  test('stats count every status of a queue', async () => {
    const queue = stage.queue();
    const zero = {
      pending: 0,
      claimable: 0,
      blocked: 0,
      processing: 0,
      completed: 0,
      buried: 0,
      cancelled: 0,
    };
    expect(await stage.stats(queue)).toEqual({ queue, paused: false, ...zero, oldestDueForMs: null });
    await jobsOfEveryStatus(stage, queue);
    const listed = await stage.allJobs({ queue });
    const stats = await stage.stats(queue);
    for (const status of statusOrder) {
      expect(stats).toMatchObject({ [status]: listed.filter((job) => job.status === status).length });
    }
    expect((await stage.storage.stats()).find((other) => other.queue === queue)).toMatchObject({
      ...stats,
      oldestDueForMs: expect.anything(),
    });
  });

  test('the claimable count is exactly what a claim takes', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 3);
    await stage.addMany(queue, 2, { due: { inMs: HOUR }, priority: 100 });
    const { id } = await stage.running(queue, { priority: 50 });
    await stage.add(queue, { after: { ids: [id], onFailure: 'bury' } });
    await stage.storage.takeBack([
      { ...(await stage.lapse(queue)), kind: 'died', delayMs: 0, alone: true, errors: failure() },
    ]);
    expect(await stage.stats(queue)).toMatchObject({ pending: 6, claimable: 3, blocked: 1 });
    await stage.storage.setPaused(queue, true);
    expect(await stage.stats(queue)).toMatchObject({
      paused: true,
      pending: 6,
      claimable: 0,
      oldestDueForMs: null,
    });
    await stage.storage.setPaused(queue, false);
    stage.advance(2 * HOUR);
    const { claimable } = await stage.stats(queue);
    expect(claimable).toBe(5);
    expect(await stage.claim(queue)).toHaveLength(claimable);
    expect((await stage.stats(queue)).claimable).toBe(0);
  });

  test('the oldest due job tells how long it has been due', async () => {
    const queue = stage.queue();
    await stage.add(queue, { due: { inMs: 10 * MINUTE }, priority: 100 });
    expect((await stage.stats(queue)).oldestDueForMs).toBeNull();
    stage.advance(15 * MINUTE);
    await stage.add(queue);
    expectAbout((await stage.stats(queue)).oldestDueForMs, 5 * MINUTE);
  });

  test('counts of what ended go on through purge, retry and tidying', async () => {
    const queue = stage.queue();
    for (const verdict of [done, done, buried, { kind: 'cancelled', reason: null } as const]) {
      await stage.ended(queue, verdict);
    }
    const job = await stage.ended(queue, buried);
    await stage.storage.retry(job.id);
    await stage.settle(await stage.claimOne(queue));
    await stage.storage.tidy({ settled: 6, idle: false });
    stage.advance(HOUR);
    await stage.purgeAll(['completed', 'buried', 'cancelled'], 0);
    expect(await stage.allJobs({ queue })).toEqual([]);
    await stage.storage.tidy({ settled: 0, idle: true });
    expect(await stage.stats(queue)).toMatchObject({ completed: 3, buried: 2, cancelled: 1 });
  });

  test('a queue that is only paused is listed', async () => {
    const queue = stage.queue();
    await stage.storage.setPaused(queue, true);
    expect((await stage.storage.stats()).find((stats) => stats.queue === queue)).toMatchObject({
      paused: true,
    });
  });

  test('peek tells when the next job of a worker falls due', async () => {
    const [queue, other] = [stage.queue(), stage.queue()];
    const peek = (queues: string[], names = ['work']) => stage.storage.peek(peekAt(queues, names));
    const nothing = { dueInMs: null, aloneDue: false };
    expect(await peek([queue])).toEqual(nothing);
    expect(await peek([])).toEqual(nothing);
    await stage.add(queue, { due: { inMs: HOUR } });
    await stage.add(queue, { name: 'unknown' });
    await stage.add(other, { due: { inMs: 10 * MINUTE }, priority: -100 });
    expectAbout((await peek([queue])).dueInMs, HOUR);
    expectAbout((await peek([queue, other])).dueInMs, 10 * MINUTE);
    expect(await peek([queue], ['never'])).toEqual(nothing);
    expect(await peek([queue], [])).toEqual(nothing);
    expect(await peek([queue], ['work', 'unknown'])).toEqual({ dueInMs: 0, aloneDue: false });
    await stage.storage.setPaused(other, true);
    expectAbout((await peek([queue, other])).dueInMs, HOUR);
    stage.advance(2 * HOUR);
    expect(await peek([queue])).toEqual({ dueInMs: 0, aloneDue: false });
    await stage.claim(queue);
    expect(await peek([queue])).toEqual(nothing);
  });

  test('peek tells apart what must run alone', async () => {
    const queue = stage.queue();
    await stage.running(queue);
    const died = { kind: 'died', delayMs: HOUR, alone: true, errors: failure() } as const;
    await stage.storage.takeBack([{ ...(await stage.lapse(queue)), ...died }]);
    expect(await stage.storage.peek(peekAt([queue], ['work']))).toEqual({ dueInMs: null, aloneDue: false });
    stage.advance(2 * HOUR);
    expect(await stage.storage.peek(peekAt([queue], ['work']))).toEqual({ dueInMs: null, aloneDue: true });
    expect(await stage.storage.peek(peekAt([queue], ['other']))).toEqual({ dueInMs: null, aloneDue: false });
    await stage.storage.setPaused(queue, true);
    expect(await stage.storage.peek(peekAt([queue], ['work']))).toEqual({ dueInMs: null, aloneDue: false });
  });
}
