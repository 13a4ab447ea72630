import { expect, test } from 'vitest';
import { done, failure, LEASE, MINUTE, type Stage, settlement, type Verdict } from './stage.js';
import { endingVerdicts, returningVerdicts } from './verdicts.js';

export function lostLeasesSuite(stage: Stage): void {
  for (const verdict of endingVerdicts()) {
    test(`a repeat of an ending that was ${verdict.kind} is done, and changes nothing`, async () => {
      const job = await stage.ended(stage.queue(), verdict);
      const before = await stage.record(job.id);
      stage.advance(MINUTE);
      expect(await stage.settle(job, verdict)).toBe('done');
      expect(await stage.record(job.id)).toEqual(before);
    });
  }

  for (const verdict of returningVerdicts()) {
    test(`a repeat of a return that was ${verdict.kind} has lost its lease, and changes nothing`, async () => {
      const job = await stage.ended(stage.queue(), verdict);
      const before = await stage.record(job.id);
      expect(await stage.settle(job, verdict)).toBe('lease-lost');
      expect(await stage.record(job.id)).toEqual(before);
    });
  }

  for (const verdict of [...endingVerdicts(), ...returningVerdicts()]) {
    test(`a worker that lost its lease cannot have the job ${verdict.kind}`, async () => {
      const queue = stage.queue();
      const late = await stage.running(queue);
      const lease = await stage.lapse(queue);
      await stage.storage.takeBack([{ ...lease, kind: 'lapsed' }]);
      expect(await stage.settle(late, verdict)).toBe('lease-lost');
      const present = await stage.claimOne(queue);
      const before = await stage.record(late.id);
      expect(await stage.settle(late, verdict)).toBe('lease-lost');
      expect(await stage.record(late.id)).toEqual(before);
      await stage.settle(present, { kind: 'completed', result: '"mine"' });
      expect(await stage.settle(late, verdict)).toBe('already-final');
      expect(await stage.record(late.id)).toMatchObject({ status: 'completed', result: '"mine"' });
    });
  }

  test('a lease past its end that nobody took back still settles', async () => {
    const job = await stage.running(stage.queue());
    stage.advance(10 * LEASE);
    expect(await stage.settle(job, done)).toBe('done');
  });

  test('a job that never ran, was deleted, or was never there is settled by nobody', async () => {
    const queue = stage.queue();
    const pending = await stage.add(queue);
    const gone = await stage.add(queue);
    await stage.storage.delete(gone);
    const unknown = stage.newJob(queue).id;
    const token = stage.token();
    const outcomes = await stage.storage.settle(
      [pending, gone, unknown].map((id) => settlement({ id, token })),
    );
    expect(outcomes).toEqual(['lease-lost', 'already-final', 'already-final']);
    expect((await stage.record(pending)).status).toBe('pending');
  });

  for (const verdict of [...endingVerdicts(), ...returningVerdicts()]) {
    test(`a job that is gone does not keep its neighbour in one call from being ${verdict.kind}`, async () => {
      const queue = stage.queue();
      const job = await stage.running(queue);
      const [before, behind] = stage.newJobs(queue, 2).map(({ id }) => ({ id, token: job.token }));
      if (!before || !behind) throw new Error('two leases');
      const call = [before, job, behind].map((lease) => settlement(lease, verdict));
      expect(await stage.storage.settle(call)).toEqual(['already-final', 'done', 'already-final']);
      expect((await stage.record(job.id)).status).not.toBe('processing');
    });
  }

  test('the same lease twice in one call is ended once, by the first', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 2);
    const [one, two] = await stage.claim(queue);
    if (!one || !two) throw new Error('two jobs');
    const retry: Verdict = { kind: 'retry', delayMs: 0, errors: failure() };
    expect(
      await stage.storage.settle([
        settlement(one),
        settlement(one, retry),
        settlement(two, retry),
        settlement(two),
      ]),
    ).toEqual(['done', 'done', 'done', 'lease-lost']);
    expect(await stage.record(one.id)).toMatchObject({ status: 'completed', attempts: 0 });
    expect(await stage.record(two.id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect((await stage.stats(queue)).completed).toBe(1);
  });

  test('two objects that end the same lease at once end it once', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    await stage.addMany(queue, 20);
    const claimed = await stage.claim(queue);
    const [mine, theirs] = await Promise.all([
      stage.storage.settle(claimed.map((job) => settlement(job, { kind: 'completed', result: '"a"' }))),
      other.storage.settle(
        claimed.map((job) => settlement(job, { kind: 'retry', delayMs: 0, errors: failure() })),
      ),
    ]);
    for (const [index, { id }] of claimed.entries()) {
      const record = await stage.record(id);
      if (record.status === 'completed') {
        expect([mine[index], theirs[index], record.attempts]).toEqual(['done', 'done', 0]);
      } else {
        expect([mine[index], theirs[index], record.attempts]).toEqual(['lease-lost', 'done', 1]);
      }
    }
  });
}
