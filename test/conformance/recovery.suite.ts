import { expect, test } from 'vitest';
import { done, expectAbout, failure, HOUR, LEASE, MINUTE, SECOND, type Stage, sorted } from './stage.js';

export function recoverySuite(stage: Stage): void {
  test('a lease counts as expired from its end on, and shows all a rescuer needs', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue, { maxAttempts: 7 });
    await stage.settle(await stage.claimOne(queue), { kind: 'retry', delayMs: 0, errors: failure('1') });
    const job = await stage.claimOne(queue, { workerId: 'w-lost', start: 1 });
    const { leaseUntilMs } = await stage.record(id);
    stage.advance(LEASE - 10 * SECOND);
    expect(await stage.expired(queue)).toEqual([]);
    stage.advance(MINUTE);
    const [lease] = await stage.expired(queue);
    expect(lease).toMatchObject({
      id,
      token: job.token,
      name: 'work',
      queue,
      workerId: 'w-lost',
      started: true,
      ranAlone: false,
      attempts: 1,
      maxAttempts: 7,
      deaths: 0,
      lapses: 0,
      errors: failure('1'),
      stopRequest: null,
      leaseUntilMs,
    });
    expectAbout(lease?.expiredForMs, 50 * SECOND);
    expect(await stage.expired(queue, { expiredForMs: 40 * SECOND })).toHaveLength(1);
    expect(await stage.expired(queue, { expiredForMs: HOUR })).toEqual([]);
  });

  test('expired leases come oldest first, and paging shows each once', async () => {
    const queue = stage.queue();
    const order: string[] = [];
    const sinceMs = await stage.storage.now();
    for (let round = 0; round < 3; round += 1) {
      const ids = await stage.addMany(queue, 3);
      await stage.claim(queue);
      order.push(...sorted(ids));
      stage.advance(SECOND * 20);
    }
    stage.advance(LEASE + SECOND);
    for (const limit of [1, 2, 4, 1_000]) {
      expect((await stage.expired(queue, { limit, sinceMs })).map(({ id }) => id)).toEqual(order);
    }
  });

  test('a job that never started lapses: no death, no charge, its place kept', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue, {}, { start: 0 });
    const lease = await stage.lapse(queue);
    expect(lease.started).toBe(false);
    expect(await stage.storage.takeBack([{ ...lease, kind: 'lapsed' }])).toEqual(['done']);
    expect(await stage.record(job.id)).toMatchObject({
      status: 'pending',
      lapses: 1,
      deaths: 0,
      attempts: 0,
      dueAtMs: job.dueAtMs,
      leaseUntilMs: null,
    });
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, lapses: 1, deaths: 0 });
  });

  test('a death is counted apart, keeps its errors and is due after its delay', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const lease = await stage.lapse(queue);
    const now = await stage.storage.now();
    const died = { ...lease, kind: 'died', delayMs: MINUTE, alone: false, errors: failure('died') } as const;
    expect(await stage.storage.takeBack([died])).toEqual(['done']);
    const record = await stage.record(job.id);
    expect(record).toMatchObject({
      status: 'pending',
      deaths: 1,
      attempts: 0,
      lapses: 0,
      alone: false,
      errors: failure('died'),
    });
    expectAbout(record.dueAtMs, now + MINUTE);
    expect(await stage.claim(queue)).toEqual([]);
    stage.advance(2 * MINUTE);
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, deaths: 1, attempts: 0 });
  });

  test('a job told to run alone stays so through put-backs and failures, and its lease says so', async () => {
    const queue = stage.queue();
    const { id } = await stage.running(queue);
    const died = { kind: 'died', delayMs: 0, errors: failure() } as const;
    await stage.storage.takeBack([{ ...(await stage.lapse(queue)), ...died, alone: true }]);
    for (const kind of ['put-back', 'retry', 'snoozed'] as const) {
      const job = await stage.claimOne(queue, { alone: true });
      await stage.settle(job, { kind, delayMs: 0, errors: failure(), reason: 'x' } as never);
      expect(await stage.claim(queue)).toEqual([]);
    }
    await stage.claimOne(queue, { alone: true });
    expect(await stage.record(id)).toMatchObject({ alone: true, attempts: 1, deaths: 1 });
    const lease = await stage.lapse(queue);
    expect(lease.ranAlone).toBe(true);
    await stage.storage.takeBack([{ ...lease, ...died, alone: false }]);
    expect(await stage.record(id)).toMatchObject({ alone: true, deaths: 2 });
  });

  test('poison buries the job with its errors, uncharged, and its late worker finds it final', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const lease = await stage.lapse(queue);
    expect(await stage.storage.takeBack([{ ...lease, kind: 'poison', errors: failure('boom') }])).toEqual([
      'done',
    ]);
    expect(await stage.record(job.id)).toMatchObject({
      status: 'buried',
      reason: 'poison',
      deaths: 1,
      attempts: 0,
      errors: failure('boom'),
    });
    expect(await stage.settle(job, done)).toBe('already-final');
    expect((await stage.stats(queue)).buried).toBe(1);
  });

  test('a decision about a lease that has moved on changes nothing', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 4);
    const [renewed, ended, retaken, gone] = await stage.claim(queue);
    if (!renewed || !ended || !retaken || !gone) throw new Error('four jobs');
    stage.advance(LEASE + SECOND);
    const seen = await stage.expired(queue);
    await stage.settle(ended, done);
    await stage.settle(retaken, { kind: 'put-back', delayMs: 0, reason: 'drain' });
    await stage.settle(gone, { kind: 'put-back', delayMs: 0, reason: 'drain' });
    await stage.storage.delete(gone.id);
    await stage.claim(queue);
    await stage.storage.renew(renewed.token.slice(0, 16), LEASE);
    expect(seen.map(({ id }) => id)).toEqual(ids);
    const poison = seen.map((lease) => ({ ...lease, kind: 'poison', errors: failure() }) as const);
    expect(await stage.storage.takeBack(poison)).toEqual(['renewed', 'renewed', 'renewed', 'renewed']);
    expect(await stage.statuses(ids)).toEqual(['processing', 'completed', 'processing', 'unknown']);
  });

  test('a decision that is repeated changes nothing more', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const lapsed = { ...(await stage.lapse(queue)), kind: 'lapsed' } as const;
    expect(await stage.storage.takeBack([lapsed])).toEqual(['done']);
    expect(await stage.storage.takeBack([lapsed])).toEqual(['renewed']);
    expect(await stage.record(job.id)).toMatchObject({ lapses: 1 });
  });

  test('decisions of one call are judged one by one, in order', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 3);
    await stage.claim(queue);
    stage.advance(LEASE + SECOND);
    const [one, two, three] = await stage.expired(queue);
    if (!one || !two || !three) throw new Error('three leases');
    expect(
      await stage.storage.takeBack([
        { ...one, kind: 'lapsed' },
        { ...two, leaseUntilMs: two.leaseUntilMs - 1, kind: 'lapsed' },
        { ...three, kind: 'died', delayMs: HOUR, alone: true, errors: failure() },
      ]),
    ).toEqual(['done', 'renewed', 'done']);
    expect(await stage.statuses([one.id, two.id, three.id])).toEqual(['pending', 'processing', 'pending']);
    expect(await stage.storage.takeBack([])).toEqual([]);
  });

  test('two rescuers take a lease back once', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 20);
    await stage.claim(queue);
    stage.advance(LEASE + SECOND);
    const decisions = (await stage.expired(queue)).map((lease) => ({ ...lease, kind: 'lapsed' }) as const);
    const [one, two] = await Promise.all([
      stage.storage.takeBack(decisions),
      other.storage.takeBack(decisions),
    ]);
    for (const [index, id] of ids.entries()) {
      expect(sorted([one[index] ?? '', two[index] ?? ''])).toEqual(['done', 'renewed']);
      expect((await stage.record(id)).lapses).toBe(1);
    }
  });

  test('in a healthy database the sweep for forgotten dependents finds none', async () => {
    expect(await stage.storage.releaseBlocked(100)).toBe(0);
  });
}
