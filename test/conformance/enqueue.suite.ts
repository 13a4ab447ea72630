import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import { done, expectAbout, failure, HOUR, MINUTE, type Stage } from './stage.js';

export function enqueueSuite(stage: Stage): void {
  test('a new job is pending, due now and shows what was dispatched', async () => {
    const queue = stage.queue();
    const now = await stage.storage.now();
    const id = await stage.add(queue, {
      payload: '{"a":[1,"ü"]}',
      priority: -7,
      maxAttempts: 9,
      retentionMs: 5_000,
    });
    const record = await stage.record(id);
    expect(record).toMatchObject({
      id,
      name: 'work',
      queue,
      status: 'pending',
      payload: '{"a":[1,"ü"]}',
      priority: -7,
      attempts: 0,
      maxAttempts: 9,
      deaths: 0,
      lapses: 0,
      alone: false,
      started: false,
      retentionMs: 5_000,
      result: null,
      errors: null,
      outcome: null,
      reason: null,
      stopRequest: null,
      leaseUntilMs: null,
      claimedAtMs: null,
      finishedAtMs: null,
      workerId: null,
      uniqueKey: null,
      waitsFor: [],
    });
    expectAbout(record.createdAtMs, now);
    expectAbout(record.dueAtMs, now);
  });

  test('a job is due after its delay, or at its time to the millisecond', async () => {
    const queue = stage.queue();
    const now = await stage.storage.now();
    const delayed = await stage.add(queue, { due: { inMs: HOUR } });
    const timed = await stage.add(queue, { due: { atMs: now + 123_457 } });
    const past = await stage.add(queue, { due: { atMs: now - HOUR } });
    expectAbout((await stage.record(delayed)).dueAtMs, now + HOUR);
    expect((await stage.record(timed)).dueAtMs).toBe(now + 123_457);
    expect((await stage.record(past)).dueAtMs).toBe(now - HOUR);
  });

  test('a time centuries away is kept as it is', async () => {
    const atMs = Date.UTC(2999, 11, 31, 23, 59, 59, 999);
    const id = await stage.add(stage.queue(), { due: { atMs } });
    expect((await stage.record(id)).dueAtMs).toBe(atMs);
  });

  test('outcomes stand in the order of the jobs, whatever became of each', async () => {
    const queue = stage.queue();
    const unknown = uuidv7();
    const known = await stage.add(queue);
    const key = stage.queue();
    const first = stage.newJob(queue, { unique: { key, scope: 'active', periodMs: 0 } });
    const second = stage.newJob(queue, { unique: { key, scope: 'active', periodMs: 0 } });
    const orphan = stage.newJob(queue, { after: { ids: [unknown], onFailure: 'bury' } });
    const plain = stage.newJob(queue);
    const outcomes = await stage.storage.enqueue([
      orphan,
      first,
      stage.newJob(queue, { id: known }),
      second,
      plain,
    ]);
    expect(outcomes).toEqual([
      { outcome: 'parent-not-found', id: unknown },
      { outcome: 'created', id: first.id },
      { outcome: 'replayed', id: known },
      { outcome: 'duplicate', id: first.id },
      { outcome: 'created', id: plain.id },
    ]);
    expect(await stage.statuses([orphan.id, second.id])).toEqual(['unknown', 'unknown']);
  });

  test('an empty call is answered by an empty answer', async () => {
    expect(await stage.storage.enqueue([])).toEqual([]);
  });

  test('a thousand jobs go in one call, in order', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 1_000);
    expect(await stage.claimIds(queue, { limit: 1_000 })).toEqual(ids);
  });

  test('a repeat of a dispatch makes no second job, whatever has become of the first', async () => {
    const queue = stage.queue();
    const jobs = stage.newJobs(queue, 5);
    const created = await stage.storage.enqueue(jobs);
    const [waiting, running, completed, buried, cancelled] = jobs;
    if (!waiting || !running || !completed || !buried || !cancelled) throw new Error('five jobs');
    const claimed = new Map((await stage.claim(queue)).map((job) => [job.id, job]));
    const lease = (id: string) => claimed.get(id) ?? { id, token: '' };
    await stage.settle(lease(waiting.id), { kind: 'put-back', delayMs: 0, reason: 'busy' });
    await stage.settle(lease(completed.id), done);
    await stage.settle(lease(buried.id), { kind: 'buried', reason: 'non-retriable', errors: failure() });
    await stage.settle(lease(cancelled.id), { kind: 'cancelled', reason: null });
    const again = await stage.storage.enqueue(jobs);
    expect(again).toEqual(created.map(({ id }) => ({ outcome: 'replayed', id })));
    expect(await stage.statuses(jobs.map(({ id }) => id))).toEqual([
      'pending',
      'processing',
      'completed',
      'buried',
      'cancelled',
    ]);
    expect(await stage.allJobs({ queue })).toHaveLength(5);
  });

  test('a half-new batch writes what is new and calls the rest replayed', async () => {
    const queue = stage.queue();
    const [first, second] = stage.newJobs(queue, 2);
    if (!first || !second) throw new Error('two jobs');
    await stage.storage.enqueue([first]);
    expect(await stage.storage.enqueue([first, second])).toEqual([
      { outcome: 'replayed', id: first.id },
      { outcome: 'created', id: second.id },
    ]);
  });

  test('the same id twice in one call is one job', async () => {
    const queue = stage.queue();
    const job = stage.newJob(queue);
    expect(await stage.storage.enqueue([job, job])).toEqual([
      { outcome: 'created', id: job.id },
      { outcome: 'replayed', id: job.id },
    ]);
    expect(await stage.allJobs({ queue })).toHaveLength(1);
  });

  test('a repeat changes nothing of the job, whatever it now says', async () => {
    const queue = stage.queue();
    const job = stage.newJob(queue);
    await stage.offer(job);
    stage.advance(MINUTE);
    expect(
      await stage.offer({ ...job, payload: '"other"', priority: 50, due: { inMs: HOUR } }),
    ).toMatchObject({
      outcome: 'replayed',
    });
    expect(await stage.record(job.id)).toMatchObject({ payload: '{"n":1}', priority: 0 });
    expect(await stage.claimIds(queue)).toEqual([job.id]);
  });

  test('a deleted job can be dispatched again under its id', async () => {
    const queue = stage.queue();
    const job = stage.newJob(queue);
    await stage.offer(job);
    await stage.storage.delete(job.id);
    expect(await stage.offer(job)).toEqual({ outcome: 'created', id: job.id });
  });

  test('two objects that dispatch the same jobs at once write each of them once', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const jobs = stage.newJobs(queue, 50);
    const [one, two] = await Promise.all([
      stage.storage.enqueue(jobs),
      other.storage.enqueue([...jobs].reverse()),
    ]);
    const created = [...one, ...two].filter(({ outcome }) => outcome === 'created');
    expect(created).toHaveLength(50);
    expect([...one, ...two].filter(({ outcome }) => outcome === 'replayed')).toHaveLength(50);
    expect(await stage.allJobs({ queue })).toHaveLength(50);
  });

  test('many dispatchers at once lose nothing', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const calls = Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0 ? stage.storage : other.storage).enqueue(stage.newJobs(queue, 5)),
    );
    const outcomes = (await Promise.all(calls)).flat();
    expect(outcomes.every(({ outcome }) => outcome === 'created')).toBe(true);
    expect((await stage.stats(queue)).claimable).toBe(200);
  });
}
