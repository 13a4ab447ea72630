import { expect, test } from 'vitest';
import { hasErrorCode } from '../../src/internal/errors.js';
import type { JobSummary } from '../../src/storage/job-record.js';
import {
  done,
  expectAbout,
  failure,
  HOUR,
  MINUTE,
  type Stage,
  settlement,
  sorted,
  type Verdict,
} from './stage.js';

const statusOrder = ['processing', 'pending', 'blocked', 'buried', 'cancelled', 'completed'];
const buried: Verdict = { kind: 'buried', reason: 'non-retriable', errors: failure() };

export function inspectSuite(stage: Stage): void {
  test('a job that is not known is null', async () => {
    expect(await stage.storage.job(stage.newJob(stage.queue()).id)).toBeNull();
  });

  test('the database says what time it is, moved by the clock of the test', async () => {
    const before = await stage.storage.now();
    expect(Number.isInteger(before)).toBe(true);
    stage.advance(HOUR);
    expectAbout(await stage.storage.now(), before + HOUR);
  });

  test('the uptime of the server is known, or there is no server', async () => {
    const uptimeMs = await stage.storage.serverUptimeMs();
    if (stage.engine === 'memory' || stage.engine === 'sqlite') expect(uptimeMs).toBeNull();
    else expect(uptimeMs).toBeGreaterThan(0);
  });

  test('the engine says what it is', () => {
    const { engine, server, durable } = stage.storage.capabilities;
    expect(engine).toBe(stage.engine);
    expect(server.length).toBeGreaterThan(0);
    expect(durable).toBe(stage.engine !== 'memory');
  });

  test('pages of any size show every job of a filter once', async () => {
    const queue = stage.queue();
    const ids = await jobsOfEveryStatus(stage, queue);
    for (const limit of [1, 2, 7, 1_000]) {
      const listed = await stage.allJobs({ queue }, limit);
      expect(sorted(listed.map(({ id }) => id))).toEqual(sorted(ids));
    }
    for (const status of statusOrder) {
      for (const name of [undefined, 'work', 'other']) {
        const filter = { queue, status: status as never, ...(name === undefined ? {} : { name }) };
        const expected = (await stage.allJobs({ queue })).filter(
          (job) => job.status === status && (name === undefined || job.name === name),
        );
        expect(await stage.allJobs(filter, 1)).toEqual(expected);
        expect(await stage.allJobs(filter)).toEqual(expected);
      }
    }
  });

  test('lists go by status, waiting jobs in the order of their turn, all others newest first', async () => {
    const queue = stage.queue();
    await jobsOfEveryStatus(stage, queue);
    const listed = await stage.allJobs({ queue }, 3);
    const groups = listed.map(({ status }) => statusOrder.indexOf(status));
    expect(groups).toEqual([...groups].sort((a, b) => a - b));
    for (const status of statusOrder) {
      const group = listed.filter((job) => job.status === status);
      expect(group.length).toBeGreaterThan(1);
      expect(group).toEqual([...group].sort(status === 'pending' ? byTurn : newestFirst));
    }
  });

  test('without a filter every job of the database is listed once', async () => {
    const ids = await jobsOfEveryStatus(stage, stage.queue());
    const listed = (await stage.allJobs({})).map(({ id }) => id);
    expect(new Set(listed).size).toBe(listed.length);
    expect(ids.filter((id) => !listed.includes(id))).toEqual([]);
  });

  test('a name or a status alone filters over all queues', async () => {
    const name = stage.queue();
    const queues = [stage.queue(), stage.queue()];
    const ids = [await stage.add(queues[0] ?? '', { name }), await stage.add(queues[1] ?? '', { name })];
    expect(sorted((await stage.allJobs({ name }, 1)).map(({ id }) => id))).toEqual(sorted(ids));
    const pending = await stage.allJobs({ status: 'pending' });
    expect(pending.every(({ status }) => status === 'pending')).toBe(true);
    expect(pending.filter(({ id }) => ids.includes(id))).toHaveLength(2);
  });

  test('a list says of each job what its record says, but for the heavy fields', async () => {
    const queue = stage.queue();
    await jobsOfEveryStatus(stage, queue);
    for (const summary of await stage.allJobs({ queue })) {
      expect(await stage.record(summary.id)).toMatchObject(summary);
      expect(Object.keys(summary)).not.toContain('payload');
    }
  });

  test('a cursor that is none is refused', async () => {
    const refused = stage.storage.jobs({}, { limit: 10, cursor: 'nonsense!' });
    await expect(refused).rejects.toSatisfy((error) => hasErrorCode(error, 'cursor-invalid'));
  });

  test('an empty filter match is one empty page', async () => {
    expect(await stage.storage.jobs({ queue: stage.queue() }, { limit: 5 })).toEqual({
      jobs: [],
      next: null,
    });
  });

  test('endings tell status, result, errors and reason of the jobs that are known', async () => {
    const queue = stage.queue();
    const completed = await stage.ended(queue, { kind: 'completed', result: '[1]' });
    const failed = await stage.ended(queue, buried);
    const waiting = await stage.add(queue);
    const unknown = stage.newJob(queue).id;
    const found = await stage.storage.endings([unknown, waiting, failed.id, completed.id]);
    const nothing = { result: null, errors: null, reason: null };
    expect(found.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
      { ...nothing, id: completed.id, status: 'completed', result: '[1]' },
      { ...nothing, id: failed.id, status: 'buried', errors: failure(), reason: 'non-retriable' },
      { ...nothing, id: waiting, status: 'pending' },
    ]);
    expect(await stage.storage.endings([])).toEqual([]);
  });

  test('endings of a thousand jobs are answered in one call', async () => {
    const ids = await stage.addMany(stage.queue(), 1_000);
    expect(await stage.storage.endings(ids)).toHaveLength(1_000);
  });

  test('an id is found by its end, live or final', async () => {
    const queue = stage.queue();
    const live = await stage.add(queue);
    const { id: final } = await stage.running(queue, { priority: 100 });
    await stage.storage.settle(
      (await stage.storage.claim(stage.request(queue))).map((job) => settlement(job)),
    );
    for (const id of [live, final]) {
      for (const length of [6, 12, 14, 36]) {
        expect(await stage.storage.idsEndingIn(id.slice(-length))).toContain(id);
      }
    }
    expect(await stage.storage.idsEndingIn(live)).toEqual([live]);
    expect(await stage.storage.idsEndingIn('ffffffffffff')).toEqual([]);
  });

  test('many ids with one end are answered by ten of them', async () => {
    const end = stage.incarnation().slice(0, 12);
    const jobs = stage.newJobs(stage.queue(), 12).map((job) => ({ ...job, id: job.id.slice(0, 24) + end }));
    await stage.storage.enqueue(jobs);
    const found = await stage.storage.idsEndingIn(end);
    expect(found).toHaveLength(10);
    expect(new Set(found).size).toBe(10);
    expect(found.every((id) => id.endsWith(end))).toBe(true);
  });

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
    const peek = (queues: string[], names = ['work']) => stage.storage.peek(queues, names);
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
    expect(await stage.storage.peek([queue], ['work'])).toEqual({ dueInMs: null, aloneDue: false });
    stage.advance(2 * HOUR);
    expect(await stage.storage.peek([queue], ['work'])).toEqual({ dueInMs: null, aloneDue: true });
    expect(await stage.storage.peek([queue], ['other'])).toEqual({ dueInMs: null, aloneDue: false });
    await stage.storage.setPaused(queue, true);
    expect(await stage.storage.peek([queue], ['work'])).toEqual({ dueInMs: null, aloneDue: false });
  });
}

/** At least two jobs of each status, and of two names; all of their ids. */
async function jobsOfEveryStatus(stage: Stage, queue: string): Promise<string[]> {
  const parent = await stage.running(queue);
  const ids = [parent.id];
  const verdicts: Verdict[] = [done, buried, { kind: 'cancelled', reason: 'x' }];
  for (const name of ['work', 'other', 'work']) {
    for (const verdict of verdicts) {
      const job = await stage.running(queue, { name }, { names: [name] });
      await stage.settle(job, verdict);
      ids.push(job.id);
    }
    ids.push((await stage.running(queue, { name }, { names: [name] })).id);
    ids.push(await stage.add(queue, { name, after: { ids: [parent.id], onFailure: 'run' } }));
  }
  for (const [index, priority] of [0, 5, -5, 0, 100].entries()) {
    const due = index === 3 ? { inMs: HOUR } : { inMs: 0 };
    ids.push(await stage.add(queue, { name: index % 2 ? 'other' : 'work', priority, due }));
  }
  return ids;
}

function newestFirst(a: JobSummary, b: JobSummary): number {
  return a.id < b.id ? 1 : -1;
}

function byTurn(a: JobSummary, b: JobSummary): number {
  return b.priority - a.priority || a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1);
}
