import { expect, test } from 'vitest';
import { failure, MINUTE, type Stage } from './stage.js';

export function diedSuite(stage: Stage): void {
  test('a job whose lane died is due again, not charged, its death counted', async () => {
    const queue = stage.queue();
    const errors = failure('the lane died');
    const { id } = await stage.ended(queue, { kind: 'died', delayMs: MINUTE, alone: false, errors });
    const before = await stage.record(id);
    expect(before).toMatchObject({ status: 'pending', attempts: 0, deaths: 1, errors, alone: false });
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(MINUTE + 1);
    const again = await stage.claimOne(queue);
    expect(again).toMatchObject({ id, attempts: 0, deaths: 1, errors });
  });

  test('one that must run alone from then on is taken by a claim for it', async () => {
    const queue = stage.queue();
    const { id } = await stage.ended(queue, { kind: 'died', delayMs: 0, alone: true, errors: failure() });
    expect(await stage.claim(queue)).toEqual([]);
    const again = await stage.claimOne(queue, { alone: true });
    expect(again.id).toBe(id);
    // Once alone, always alone.
    await stage.settle(again, { kind: 'died', delayMs: 0, alone: false, errors: failure() });
    expect(await stage.record(id)).toMatchObject({ alone: true, deaths: 2 });
  });

  test('poison is a death that buries', async () => {
    const queue = stage.queue();
    const errors = failure('it died three times');
    const { id } = await stage.ended(queue, { kind: 'buried', reason: 'poison', errors });
    expect(await stage.record(id)).toMatchObject({
      status: 'buried',
      reason: 'poison',
      attempts: 0,
      deaths: 1,
      errors,
    });
  });

  test('a stop request goes before it, and the death is recorded', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    expect(await stage.storage.cancel(job.id)).toBe('requested');
    const errors = failure();
    expect(await stage.settle(job, { kind: 'died', delayMs: MINUTE, alone: false, errors })).toBe('done');
    expect(await stage.record(job.id)).toMatchObject({
      status: 'cancelled',
      reason: 'operator',
      attempts: 0,
      deaths: 1,
      errors,
    });
  });

  test('its token settles nothing more', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, { kind: 'died', delayMs: 0, alone: false, errors: failure() });
    expect(await stage.settle(job)).toBe('lease-lost');
  });

  test('it goes in a batch with others', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 3);
    const [one, two, three] = await stage.claim(queue);
    if (!one || !two || !three) throw new Error('three jobs');
    const lease = ({ id, token }: typeof one) => ({ id, token });
    expect(
      await stage.storage.settle([
        { ...lease(one), kind: 'completed', result: null },
        { ...lease(two), kind: 'died', delayMs: 0, alone: false, errors: failure() },
        { ...lease(three), kind: 'buried', reason: 'poison', errors: failure() },
      ]),
    ).toEqual(['done', 'done', 'done']);
    expect(await stage.statuses([one.id, two.id, three.id])).toEqual(['completed', 'pending', 'buried']);
  });
}
