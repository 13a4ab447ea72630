import { expect, test } from 'vitest';
import { hasErrorCode } from '../../src/internal/errors.js';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';
import type { LogLine, NewLogLine } from '../../src/storage/job-log.js';
import { done, expectAbout, failure, HOUR, type Stage } from './stage.js';

export function logSuite(stage: Stage): void {
  const lineOf = (job: ClaimedJob, seq: number, with_: Partial<NewLogLine> = {}): NewLogLine => ({
    id: job.id,
    token: job.token,
    seq,
    kind: 'log',
    level: 'info',
    text: `line ${seq}`,
    ...with_,
  });
  const lines = (job: ClaimedJob, count: number, from = 1) =>
    Array.from({ length: count }, (_, index) => lineOf(job, from + index));
  const readAll = async (id: string, limit = 1_000): Promise<LogLine[]> => {
    const all: LogLine[] = [];
    for (;;) {
      const after = all.at(-1)?.cursor;
      const page = await stage.storage.log(id, after === undefined ? { limit } : { limit, after });
      all.push(...page);
      if (page.length < limit) return all;
    }
  };
  const texts = async (id: string) => (await readAll(id)).map(({ text }) => text);

  test('lines are read back as they were written', async () => {
    const job = await stage.running(stage.queue());
    const now = await stage.storage.now();
    await stage.storage.appendLog([
      lineOf(job, 1, { level: 'debug', text: '' }),
      lineOf(job, 2, { kind: 'progress', text: '{"done":1,"total":2}' }),
      lineOf(job, 3, { level: 'error', text: 'tab\tnew\nline 😀 \u200b ü “quoted” \\u0000' }),
    ]);
    const read = await readAll(job.id);
    expect(read).toMatchObject([
      { seq: 1, kind: 'log', level: 'debug', text: '' },
      { seq: 2, kind: 'progress', level: 'info', text: '{"done":1,"total":2}' },
      { seq: 3, kind: 'log', level: 'error', text: 'tab\tnew\nline 😀 \u200b ü “quoted” \\u0000' },
    ]);
    expectAbout(read[0]?.atMs, now);
  });

  test('lines are ordered by lease, in order of claim, then by number', async () => {
    const queue = stage.queue();
    // Tokens whose own order is the opposite of the order of the claims.
    const [early, late] = [`f${stage.token().slice(1)}`, `0${stage.token().slice(1)}`];
    const first = await stage.running(queue, {}, { token: early });
    await stage.storage.appendLog([lineOf(first, 2, { text: 'a2' }), lineOf(first, 10, { text: 'a10' })]);
    await stage.storage.appendLog([lineOf(first, 1, { text: 'a1' })]);
    stage.advance(HOUR);
    await stage.settle(first, { kind: 'retry', delayMs: 0, errors: failure() });
    const second = await stage.claimOne(queue, { token: late });
    await stage.storage.appendLog([lineOf(second, 1, { text: 'b1' })]);
    expect(await texts(first.id)).toEqual(['a1', 'a2', 'a10', 'b1']);
  });

  test('paging by cursor shows each line once', async () => {
    const queue = stage.queue();
    const first = await stage.running(queue);
    await stage.storage.appendLog(lines(first, 12));
    await stage.settle(first, { kind: 'snoozed', delayMs: 0 });
    const second = await stage.claimOne(queue);
    await stage.storage.appendLog(lines(second, 3));
    const all = await readAll(first.id);
    expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2, 3]);
    expect(new Set(all.map(({ cursor }) => cursor)).size).toBe(15);
    for (const limit of [1, 5, 12, 15]) expect(await readAll(first.id, limit)).toEqual(all);
  });

  test('a line written after a cursor was taken comes after it', async () => {
    const job = await stage.running(stage.queue());
    await stage.storage.appendLog(lines(job, 2));
    const after = (await readAll(job.id)).at(-1)?.cursor ?? '';
    await stage.storage.appendLog([lineOf(job, 3)]);
    expect(await stage.storage.log(job.id, { after, limit: 10 })).toMatchObject([{ seq: 3 }]);
  });

  test('a batch that is repeated is kept once, also when it is half new', async () => {
    const job = await stage.running(stage.queue());
    await stage.storage.appendLog(lines(job, 3));
    await stage.storage.appendLog(lines(job, 5));
    await stage.storage.appendLog([lineOf(job, 6), lineOf(job, 6, { text: 'again' })]);
    expect(await texts(job.id)).toEqual([1, 2, 3, 4, 5, 6].map((seq) => `line ${seq}`));
  });

  test('lines of a lease that is neither the present nor the last one are dropped, others kept', async () => {
    const queue = stage.queue();
    const lost = await stage.running(queue);
    await stage.settle(lost, { kind: 'put-back', delayMs: 0, reason: 'drain' });
    const present = await stage.claimOne(queue);
    const ended = await stage.ended(stage.queue(), done);
    // One that another hand has ended: no lease of it may write any more.
    const called = await stage.running(stage.queue());
    await stage.settle(called, { kind: 'put-back', delayMs: 0, reason: 'drain' });
    await stage.storage.cancel(called.id);
    const unknown = { ...present, id: stage.newJob(queue).id };
    await stage.storage.appendLog([
      lineOf(lost, 1, { text: 'lost' }),
      lineOf(ended, 1, { text: 'as it ended' }),
      lineOf({ ...ended, token: present.token }, 2),
      lineOf(called, 1),
      lineOf(unknown, 1),
      lineOf(present, 1, { text: 'present' }),
    ]);
    expect(await texts(present.id)).toEqual(['present']);
    expect(await texts(ended.id)).toEqual(['as it ended']);
    expect(await texts(called.id)).toEqual([]);
    expect(await texts(unknown.id)).toEqual([]);
  });

  test('the log stays readable when the job has ended', async () => {
    const job = await stage.running(stage.queue());
    await stage.storage.appendLog(lines(job, 2));
    await stage.settle(job);
    expect(await texts(job.id)).toEqual(['line 1', 'line 2']);
  });

  test('at most a thousand lines of a job are kept, over all its leases', async () => {
    const queue = stage.queue();
    const first = await stage.running(queue);
    await stage.storage.appendLog(lines(first, 700));
    await stage.settle(first, { kind: 'snoozed', delayMs: 0 });
    const second = await stage.claimOne(queue);
    await stage.storage.appendLog(lines(second, 290));
    await stage.storage.appendLog(lines(second, 400, 291));
    await stage.storage.appendLog(lines(second, 10, 691));
    const kept = await readAll(first.id);
    expect(kept.length).toBeLessThanOrEqual(1_000);
    expect(kept.length).toBeGreaterThanOrEqual(990);
    expect(kept[0]).toMatchObject({ seq: 1, text: 'line 1' });
  });

  test('at most 256 KB of a job are kept, counted in bytes', async () => {
    const job = await stage.running(stage.queue());
    const text = 'ü'.repeat(4_000);
    for (let from = 1; from <= 60; from += 20) {
      await stage.storage.appendLog(lines(job, 20, from).map((line) => ({ ...line, text })));
    }
    const bytes = (await texts(job.id)).reduce((sum, kept) => sum + Buffer.byteLength(kept), 0);
    expect(bytes).toBeLessThanOrEqual(256 * 1024);
    expect(bytes).toBeGreaterThan(100 * 1024);
  });

  test('one full log does not keep others from being written', async () => {
    const queue = stage.queue();
    const full = await stage.running(queue);
    const other = await stage.running(queue);
    await stage.storage.appendLog(lines(full, 1_000));
    await stage.storage.appendLog([...lines(full, 5, 1_001), lineOf(other, 1)]);
    expect(await texts(other.id)).toEqual(['line 1']);
    expect((await readAll(full.id)).length).toBeLessThanOrEqual(1_000);
  });

  test('no lines are nothing to write', async () => {
    await stage.storage.appendLog([]);
  });

  test('a cursor that is none is refused', async () => {
    const job = await stage.running(stage.queue());
    await stage.storage.appendLog(lines(job, 1));
    const refused = stage.storage.log(job.id, { after: 'nonsense!', limit: 10 });
    await expect(refused).rejects.toSatisfy((error) => hasErrorCode(error, 'cursor-invalid'));
  });

  test('old lines are purged up to the limit, newer ones stay', async () => {
    const job = await stage.running(stage.queue());
    await stage.storage.purgeTraces({ olderThanMs: 0, limit: 100_000 });
    await stage.storage.appendLog(lines(job, 10));
    stage.advance(2 * HOUR);
    await stage.storage.appendLog([lineOf(job, 11)]);
    const left: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await stage.storage.purgeTraces({ olderThanMs: HOUR, limit: 4 });
      left.push((await texts(job.id)).length);
    }
    expect(left).toEqual([7, 3, 1]);
    expect(await texts(job.id)).toEqual(['line 11']);
  });
}
