import { expect, test } from 'vitest';
import { done, expectAbout, failure, HOUR, LEASE, MINUTE, type Stage, type Verdict } from './stage.js';

const requests = ['cancel', 'bury', 'delete'] as const;
const statusAfter = { cancel: 'cancelled', bury: 'buried', delete: 'unknown' } as const;

export function controlSuite(stage: Stage): void {
  for (const request of requests) {
    test(`a pending or blocked job is ${statusAfter[request]} at once by a ${request}`, async () => {
      const queue = stage.queue();
      const pending = await stage.add(queue, { due: { inMs: HOUR } });
      const blocked = await stage.add(queue, { after: { ids: [pending], onFailure: 'run' } });
      for (const id of [blocked, pending]) expect(await stage.storage[request](id)).toBe('done');
      expect(await stage.statuses([pending, blocked])).toEqual([statusAfter[request], statusAfter[request]]);
      expect(await stage.claim(queue)).toEqual([]);
      if (request === 'delete') return;
      const record = await stage.record(pending);
      expect(record).toMatchObject({ reason: 'operator', attempts: 0, stopRequest: null });
      expectAbout(record.finishedAtMs, await stage.storage.now());
    });

    test(`a ${request} of a running job is a request that its worker sees`, async () => {
      const job = await stage.running(stage.queue());
      const incarnation = job.token.slice(0, 16);
      expect(await stage.storage[request](job.id)).toBe('requested');
      expect(await stage.record(job.id)).toMatchObject({ status: 'processing', stopRequest: request });
      const held = [{ id: job.id, token: job.token, stopRequest: request }];
      expect(await stage.storage.held(incarnation)).toEqual(held);
      expect(await stage.storage.renew(incarnation, LEASE)).toEqual(held);
      expect(await stage.storage[request](job.id)).toBe('requested');
    });

    for (const verdict of verdicts()) {
      test(`a ${request} requested while it ran is carried out when it ends as ${verdict.kind}`, async () => {
        const queue = stage.queue();
        const job = await stage.running(queue);
        await stage.storage[request](job.id);
        expect(await stage.settle(job, verdict)).toBe('done');
        expect(await stage.statuses([job.id])).toEqual([statusAfter[request]]);
        expect(await stage.claim(queue)).toEqual([]);
        if (request === 'delete') {
          expect(await stage.settle(job, verdict)).toBe('already-final');
          return;
        }
        const isCharged = verdict.kind === 'retry' || verdict.kind === 'buried';
        expect(await stage.record(job.id)).toMatchObject({
          reason: 'operator',
          stopRequest: null,
          attempts: isCharged ? 1 : 0,
          errors: isCharged ? failure('as it was') : null,
        });
        expect(await stage.settle(job, verdict)).toBe('done');
      });
    }

    test(`a ${request} that comes too late leaves a completed job completed`, async () => {
      const job = await stage.running(stage.queue());
      await stage.storage[request](job.id);
      expect(await stage.settle(job, { kind: 'completed', result: '1' })).toBe('done');
      expect(await stage.record(job.id)).toMatchObject({
        status: 'completed',
        result: '1',
        stopRequest: null,
      });
    });

    for (const kind of ['stopped', 'lapsed', 'died', 'poison'] as const) {
      test(`a ${request} requested while it ran is carried out when its lease is taken back as ${kind}`, async () => {
        const queue = stage.queue();
        const job = await stage.running(queue);
        await stage.storage[request](job.id);
        const lease = await stage.lapse(queue);
        expect(lease.stopRequest).toBe(request);
        const decision = { ...lease, kind, delayMs: MINUTE, alone: true, errors: failure() } as const;
        expect(await stage.storage.takeBack([decision])).toEqual(['done']);
        expect(await stage.statuses([job.id])).toEqual([statusAfter[request]]);
        if (request !== 'delete') {
          const { dueAtMs } = job;
          expect(await stage.record(job.id)).toMatchObject({ reason: 'operator', alone: false, dueAtMs });
        }
        expect(await stage.settle(job, done)).toBe('already-final');
      });
    }
  }

  test('of several requests the last one stands', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    for (const request of ['cancel', 'delete', 'bury'] as const) await stage.storage[request](job.id);
    await stage.settle(job, { kind: 'snoozed', delayMs: 0 });
    expect(await stage.statuses([job.id])).toEqual(['buried']);
  });

  test('a request ends with its lease: a retried job runs free of it', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    await stage.storage.cancel(job.id);
    await stage.settle(job, { kind: 'snoozed', delayMs: 0 });
    expect(await stage.storage.retry(job.id)).toBe('done');
    const again = await stage.claimOne(queue);
    expect((await stage.record(job.id)).stopRequest).toBeNull();
    await stage.settle(again, { kind: 'retry', delayMs: 0, errors: failure() });
    expect(await stage.statuses([job.id])).toEqual(['pending']);
  });

  test('a final job is already final to bury and cancel, and unknown ones are not found', async () => {
    const queue = stage.queue();
    const verdicts: Verdict[] = [
      done,
      { kind: 'buried', reason: 'non-retriable', errors: failure() },
      { kind: 'cancelled', reason: 'mine' },
    ];
    for (const verdict of verdicts) {
      const { id } = await stage.ended(queue, verdict);
      const before = await stage.record(id);
      expect(await stage.storage.bury(id)).toBe('already-final');
      expect(await stage.storage.cancel(id)).toBe('already-final');
      expect(await stage.record(id)).toEqual(before);
    }
    const { id } = stage.newJob(queue);
    for (const call of ['retry', 'bury', 'cancel', 'delete'] as const) {
      expect(await stage.storage[call](id)).toBe('not-found');
    }
  });

  test('deleting a job of any status that does not run takes everything of it away', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue, { idempotency: { key: queue, inputHash: 'a'.repeat(64) } });
    await stage.storage.appendLog([
      { id: job.id, token: job.token, seq: 1, kind: 'log', level: 'info', text: 'x' },
    ]);
    await stage.settle(job, done);
    expect(await stage.storage.delete(job.id)).toBe('done');
    expect(await stage.storage.job(job.id)).toBeNull();
    expect(await stage.storage.log(job.id, { limit: 10 })).toEqual([]);
    expect(await stage.storage.delete(job.id)).toBe('not-found');
    expect(await stage.allJobs({ queue })).toEqual([]);
    expect(await stage.settle(job, done)).toBe('already-final');
  });

  test('a retried buried job starts afresh, keeps its history and is due now', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue, { maxAttempts: 1 });
    const died = { kind: 'died', delayMs: 0, alone: true, errors: failure('died') } as const;
    await stage.storage.takeBack([{ ...(await stage.lapse(queue)), ...died }]);
    const alone = await stage.claimOne(queue, { alone: true });
    await stage.settle(alone, { kind: 'buried', reason: 'attempts-exhausted', errors: failure('final') });
    expect(await stage.record(job.id)).toMatchObject({ attempts: 1, deaths: 1, alone: true });
    stage.advance(HOUR);
    expect(await stage.storage.retry(job.id)).toBe('done');
    const record = await stage.record(job.id);
    expect(record).toMatchObject({
      status: 'pending',
      attempts: 0,
      deaths: 0,
      lapses: 0,
      alone: false,
      errors: failure('final'),
      reason: null,
      finishedAtMs: null,
    });
    expectAbout(record.dueAtMs, await stage.storage.now());
    expect(await stage.settle(alone, done)).toBe('lease-lost');
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, attempts: 0, maxAttempts: 1 });
  });

  test('a cancelled job can be retried too, and completes with its new result', async () => {
    const queue = stage.queue();
    const { id } = await stage.ended(queue, { kind: 'cancelled', reason: 'oops' });
    expect(await stage.storage.retry(id)).toBe('done');
    await stage.settle(await stage.claimOne(queue), { kind: 'completed', result: '2' });
    expect(await stage.record(id)).toMatchObject({ status: 'completed', result: '2', reason: null });
  });

  test('a retry of a waiting job makes it due now', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, { kind: 'retry', delayMs: HOUR, errors: failure() });
    expect(await stage.storage.retry(job.id)).toBe('done');
    expect(await stage.claimOne(queue)).toMatchObject({ id: job.id, attempts: 1 });
  });

  test('a blocked, running or completed job is not for retry', async () => {
    const queue = stage.queue();
    const completed = await stage.ended(queue, done);
    const running = await stage.running(queue);
    const blocked = await stage.add(queue, { after: { ids: [running.id], onFailure: 'bury' } });
    const ids = [completed.id, running.id, blocked];
    for (const id of ids) expect(await stage.storage.retry(id)).toBe('not-allowed');
    expect(await stage.statuses(ids)).toEqual(['completed', 'processing', 'blocked']);
  });

  test('buried jobs of a queue are retried oldest first, up to the limit', async () => {
    const [queue, other] = [stage.queue(), stage.queue()];
    const buried: Verdict = { kind: 'buried', reason: 'non-retriable', errors: failure() };
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push((await stage.ended(queue, buried)).id);
    const elsewhere = await stage.ended(other, buried);
    expect(await stage.storage.retryBuried({ queue, limit: 2 })).toEqual({ retried: 2, duplicates: 0 });
    expect(await stage.statuses(ids)).toEqual(['pending', 'pending', 'buried', 'buried', 'buried']);
    expect(await stage.storage.retryBuried({ queue, limit: 100 })).toEqual({ retried: 3, duplicates: 0 });
    expect(await stage.storage.retryBuried({ queue, limit: 100 })).toEqual({ retried: 0, duplicates: 0 });
    expect((await stage.record(ids[4] ?? '')).attempts).toBe(0);
    expect(await stage.statuses([elsewhere.id])).toEqual(['buried']);
  });

  test('buried jobs of all queues are retried when none is named', async () => {
    const buried: Verdict = { kind: 'buried', reason: 'non-retriable', errors: failure() };
    const ids = [await stage.ended(stage.queue(), buried), await stage.ended(stage.queue(), buried)].map(
      ({ id }) => id,
    );
    const { retried } = await stage.storage.retryBuried({ limit: 1_000 });
    expect(retried).toBeGreaterThanOrEqual(2);
    expect(await stage.statuses(ids)).toEqual(['pending', 'pending']);
  });

  test('pausing is remembered, idempotent, and known before a queue has jobs', async () => {
    const queue = stage.queue();
    for (let round = 0; round < 2; round += 1) await stage.storage.setPaused(queue, true);
    expect((await stage.storage.pausedQueues()).filter((name) => name === queue)).toEqual([queue]);
    for (let round = 0; round < 2; round += 1) await stage.storage.setPaused(queue, false);
    expect(await stage.storage.pausedQueues()).not.toContain(queue);
  });

  test('two operators and a worker at once: the job ends once, and everyone is told the truth', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    for (let round = 0; round < 10; round += 1) {
      const job = await stage.running(queue);
      const [settled, cancelled, buried] = await Promise.all([
        stage.settle(job, { kind: 'retry', delayMs: MINUTE, errors: failure() }),
        other.storage.cancel(job.id),
        stage.storage.bury(job.id),
      ]);
      expect(settled).toBe('done');
      const [status] = await stage.statuses([job.id]);
      expect(['cancelled', 'buried']).toContain(status);
      expect(['done', 'requested', 'already-final']).toContain(cancelled);
      expect(['done', 'requested', 'already-final']).toContain(buried);
    }
  });
}

function verdicts(): Verdict[] {
  return [
    { kind: 'retry', delayMs: 0, errors: failure('as it was') },
    { kind: 'buried', reason: 'attempts-exhausted', errors: failure('as it was') },
    { kind: 'cancelled', reason: 'its own' },
    { kind: 'snoozed', delayMs: 0 },
    { kind: 'put-back', delayMs: 0, reason: 'drain' },
  ];
}
