import { expect, test } from 'vitest';
import {
  done,
  expectAbout,
  failure,
  HOUR,
  LEASE,
  MINUTE,
  type Stage,
  settlement,
  type Verdict,
} from './stage.js';

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

function endingVerdicts(): Verdict[] {
  return [
    { kind: 'completed', result: '{"ok":true}' },
    { kind: 'buried', reason: 'non-retriable', errors: failure() },
    { kind: 'cancelled', reason: 'no' },
  ];
}

function returningVerdicts(): Verdict[] {
  return [
    { kind: 'retry', delayMs: MINUTE, errors: failure() },
    { kind: 'snoozed', delayMs: MINUTE },
    { kind: 'put-back', delayMs: MINUTE, reason: 'drain' },
  ];
}
