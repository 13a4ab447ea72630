import { expect, test } from 'vitest';
import { hasErrorCode } from '../../src/internal/errors.js';
import type { JobSummary } from '../../src/storage/job-record.js';
import { jobsOfEveryStatus } from './jobs-of-every-status.js';
import { expectAbout, failure, HOUR, type Stage, settlement, sorted } from './stage.js';
import { buried } from './verdicts.js';

const statusOrder = ['processing', 'pending', 'blocked', 'buried', 'cancelled', 'completed'];

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
}

function newestFirst(a: JobSummary, b: JobSummary): number {
  return a.id < b.id ? 1 : -1;
}

function byTurn(a: JobSummary, b: JobSummary): number {
  return b.priority - a.priority || a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1);
}
