import { expect, test } from 'vitest';
import { expectAbout, failure, HOUR, MINUTE, type Stage, settlement, type Verdict } from './stage.js';

export function settleSuite(stage: Stage): void {
  test('a completed job keeps its result, its worker and the time', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    stage.advance(5_000);
    const now = await stage.storage.now();
    expect(await stage.settle(job, { kind: 'completed', result: '{"path":"x"}' })).toBe('done');
    const record = await stage.record(job.id);
    expect(record).toMatchObject({
      status: 'completed',
      result: '{"path":"x"}',
      outcome: null,
      reason: null,
      errors: null,
      attempts: 0,
      workerId: 'worker-1',
      leaseUntilMs: null,
      started: false,
    });
    expectAbout(record.finishedAtMs, now);
  });

  test('a skipped job is completed and says so', async () => {
    const job = await stage.ended(stage.queue(), { kind: 'completed', result: null, outcome: 'skipped' });
    expect(await stage.record(job.id)).toMatchObject({
      status: 'completed',
      outcome: 'skipped',
      result: null,
    });
  });

  test('a failed attempt is charged, keeps its errors and is due after its delay', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const now = await stage.storage.now();
    expect(await stage.settle(job, { kind: 'retry', delayMs: MINUTE, errors: failure('one') })).toBe('done');
    const record = await stage.record(job.id);
    expect(record).toMatchObject({
      status: 'pending',
      attempts: 1,
      errors: failure('one'),
      leaseUntilMs: null,
    });
    expectAbout(record.dueAtMs, now + MINUTE);
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(2 * MINUTE);
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, attempts: 1, errors: failure('one') });
  });

  test('a buried job is charged and keeps reason and errors', async () => {
    const job = await stage.ended(stage.queue(), {
      kind: 'buried',
      reason: 'attempts-exhausted',
      errors: failure('last'),
    });
    expect(await stage.record(job.id)).toMatchObject({
      status: 'buried',
      attempts: 1,
      reason: 'attempts-exhausted',
      errors: failure('last'),
    });
  });

  test('a cancelled job is not charged and keeps its reason', async () => {
    const job = await stage.ended(stage.queue(), { kind: 'cancelled', reason: 'withdrawn – “ü” 😀' });
    expect(await stage.record(job.id)).toMatchObject({
      status: 'cancelled',
      attempts: 0,
      reason: 'withdrawn – “ü” 😀',
    });
  });

  test('a snoozed job is not charged and is due later', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, { kind: 'snoozed', delayMs: HOUR });
    expect(await stage.record(job.id)).toMatchObject({ status: 'pending', attempts: 0, errors: null });
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(HOUR + MINUTE);
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, attempts: 0 });
  });

  test('a job put back is not charged, keeps its place in the line and says why', async () => {
    const queue = stage.queue();
    const [first, second] = await stage.addMany(queue, 2);
    const job = await stage.claimOne(queue);
    const { dueAtMs } = await stage.record(job.id);
    stage.advance(MINUTE);
    await stage.settle(job, { kind: 'put-back', delayMs: 0, reason: 'draining' });
    expect(await stage.record(job.id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      deaths: 0,
      lapses: 0,
      reason: 'draining',
      dueAtMs,
    });
    expect(await stage.claimIds(queue)).toEqual([first, second]);
    expect((await stage.record(job.id)).reason).toBeNull();
  });

  test('a job put back for a while is due after it', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, { kind: 'put-back', delayMs: MINUTE, reason: 'no memory' });
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(2 * MINUTE);
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, attempts: 0 });
  });

  test('put-backs and snoozes between failures charge nothing, failures add up', async () => {
    const queue = stage.queue();
    await stage.add(queue);
    const verdicts: Verdict[] = [
      { kind: 'retry', delayMs: 0, errors: failure('1') },
      { kind: 'put-back', delayMs: 0, reason: 'drain' },
      { kind: 'snoozed', delayMs: 0 },
      { kind: 'retry', delayMs: 0, errors: failure('2') },
    ];
    for (const verdict of verdicts)
      expect(await stage.settle(await stage.claimOne(queue), verdict)).toBe('done');
    expect(await stage.claimOne(queue)).toMatchObject({ attempts: 2, errors: failure('2') });
  });

  test('a completion after failures keeps their errors', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, { kind: 'retry', delayMs: 0, errors: failure('first') });
    await stage.settle(await stage.claimOne(queue), { kind: 'completed', result: '1' });
    expect(await stage.record(job.id)).toMatchObject({
      status: 'completed',
      attempts: 1,
      errors: failure('first'),
    });
  });

  test('outcomes stand in order, and one lost lease changes nothing for its neighbours', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 5);
    const claimed = await stage.claim(queue);
    const [one, two, three, four, five] = claimed;
    if (!one || !two || !three || !four || !five) throw new Error('five jobs');
    await stage.settle(two, { kind: 'cancelled', reason: null });
    await stage.settle(four, { kind: 'snoozed', delayMs: 0 });
    const outcomes = await stage.storage.settle([
      settlement(five, { kind: 'retry', delayMs: 0, errors: failure() }),
      settlement({ id: two.id, token: stage.token() }),
      settlement(three),
      settlement(four),
      settlement(one, { kind: 'buried', reason: 'non-retriable', errors: failure() }),
    ]);
    expect(outcomes).toEqual(['done', 'already-final', 'done', 'lease-lost', 'done']);
    const ids = [one, two, three, four, five].map(({ id }) => id);
    expect(await stage.statuses(ids)).toEqual(['buried', 'cancelled', 'completed', 'pending', 'pending']);
  });

  test('an empty call is answered by an empty answer', async () => {
    expect(await stage.storage.settle([])).toEqual([]);
  });

  test('a thousand leases end in one call', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 1_000);
    const claimed = await stage.claim(queue, { limit: 1_000 });
    const outcomes = await stage.storage.settle(
      claimed.map((job, index) => settlement(job, { kind: 'completed', result: String(index) })),
    );
    expect(outcomes).toHaveLength(1_000);
    expect(new Set(outcomes)).toEqual(new Set(['done']));
    expect((await stage.record(claimed[617]?.id ?? '')).result).toBe('617');
    expect(await stage.stats(queue)).toMatchObject({ processing: 0, completed: 1_000 });
  });
}
