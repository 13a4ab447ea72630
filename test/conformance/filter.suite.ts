import { expect, test } from 'vitest';
import type { JobFilter } from '../../src/storage/job-record.js';
import { done, failure, HOUR, MINUTE, type Stage, sorted, type Verdict } from './stage.js';

const buriedBy = (message: string): Verdict => ({
  kind: 'buried',
  reason: 'non-retriable',
  errors: failure(message),
});

export function filterSuite(stage: Stage): void {
  const found = async (filter: JobFilter, limit?: number): Promise<string[]> =>
    (await stage.allJobs(filter, limit)).map(({ id }) => id);

  test('tags are kept with the job, through every status', async () => {
    const [queue, tag] = [stage.queue(), stage.queue()];
    const tags = sorted([tag, 'a/b:c.d_e-f', 'B']);
    const id = await stage.add(queue, { tags });
    const look = async (): Promise<void> => {
      expect((await stage.record(id)).tags).toEqual(tags);
      expect((await stage.allJobs({ queue }))[0]?.tags).toEqual(tags);
      expect(await found({ tag })).toEqual([id]);
    };
    await look();
    const job = await stage.claimOne(queue);
    await look();
    await stage.settle(job, buriedBy('no'));
    await look();
    await stage.storage.retry(id);
    await look();
    await stage.settle(await stage.claimOne(queue));
    await look();
    expect((await stage.record(await stage.add(queue))).tags).toEqual([]);
    await stage.storage.delete(id);
    expect(await found({ tag })).toEqual([]);
  });

  test('a tag lists newest first whatever the status, page by page, with every other filter', async () => {
    const [queue, tag] = [stage.queue(), stage.queue()];
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      const verdict = index % 2 === 0 ? done : buriedBy('odd');
      ids.push((await stage.ended(queue, verdict, { tags: [tag] })).id);
      ids.push(await stage.add(stage.queue(), { tags: [tag], name: 'other' }));
      await stage.add(queue, { tags: [tag.toUpperCase()], due: { inMs: HOUR } });
    }
    const newest = [...ids].reverse();
    for (const limit of [1, 3, 8, 100]) expect(await found({ tag }, limit)).toEqual(newest);
    expect(await found({ tag, queue }, 3)).toEqual([ids[6], ids[4], ids[2], ids[0]]);
    expect(await found({ tag, status: 'buried' })).toEqual([ids[6], ids[2]]);
    expect(await found({ tag, name: 'other', status: 'pending' }, 2)).toEqual([
      ids[7],
      ids[5],
      ids[3],
      ids[1],
    ]);
    expect(await found({ tag: 'nobody/has.this' })).toEqual([]);
  });

  test('tags go with the jobs that are purged', async () => {
    const [queue, tag] = [stage.queue(), stage.queue()];
    await stage.ended(queue, done, { tags: [tag], retentionMs: 0 });
    await stage.purgeAll(['completed'], 0);
    expect(await found({ tag })).toEqual([]);
    expect(await stage.allJobs({ queue })).toEqual([]);
  });

  test('tagged jobs of one call keep to their own tags, also with keys and parents', async () => {
    const [queue, tag] = [stage.queue(), stage.queue()];
    const jobs = [
      stage.newJob(queue, { tags: [tag] }),
      stage.newJob(queue),
      stage.newJob(queue, { tags: sorted([`${tag}x`, tag]), version: 4 }),
    ];
    const last = stage.newJob(queue, {
      tags: [tag],
      unique: { key: queue, scope: 'active', periodMs: 0 },
      after: { ids: [jobs[1]?.id ?? ''], onFailure: 'run' },
    });
    await stage.storage.enqueue([...jobs, last]);
    expect(await found({ tag })).toEqual([last.id, jobs[2]?.id, jobs[0]?.id]);
    expect(await stage.storage.enqueue([...jobs, last])).toEqual(
      [...jobs, last].map(({ id }) => ({ outcome: 'replayed', id })),
    );
    expect(await found({ tag: `${tag}x` })).toEqual([jobs[2]?.id]);
    expect((await stage.record(jobs[2]?.id ?? '')).version).toBe(4);
    expect((await stage.claim(queue)).map(({ version }) => version)).toEqual([1, 1, 4]);
  });

  test('a text is looked for in the message of the last failure alone, in capitals or not', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, buriedBy('Socket hang up: ümlaut'));
    await stage.ended(queue, buriedBy('other'));
    const was = JSON.parse(failure('socket HANG UP')) as unknown[];
    const errors = JSON.stringify([...was, ...(JSON.parse(failure('then this')) as unknown[])]);
    const retrying = await stage.ended(queue, { kind: 'retry', delayMs: HOUR, errors });
    await stage.add(queue, { payload: '"socket hang up"' });
    expect(await found({ queue, errorText: 'socket hang UP' })).toEqual([job.id]);
    expect(await found({ queue, errorText: 'ÜMLAUT' })).toEqual([job.id]);
    expect(await found({ queue, errorText: 'hang%up' })).toEqual([]);
    expect(await found({ queue, errorText: 'then this', status: 'pending' })).toEqual([retrying.id]);
  });

  test('times are from the first, until before the second, for those that have one', async () => {
    const queue = stage.queue();
    const old = await stage.ended(queue, done);
    const waiting = await stage.add(queue, { due: { inMs: HOUR } });
    stage.advance(10 * MINUTE);
    const { createdAtMs, finishedAtMs } = await stage.record(old.id);
    const young = await stage.ended(queue, done);
    const middle = createdAtMs + 5 * MINUTE;
    expect(await found({ queue, createdAfterMs: middle })).toEqual([young.id]);
    expect(await found({ queue, createdBeforeMs: middle })).toEqual([waiting, old.id]);
    expect(await found({ queue, createdAfterMs: createdAtMs, createdBeforeMs: createdAtMs + 1 })).toContain(
      old.id,
    );
    expect(await found({ queue, createdBeforeMs: createdAtMs })).toEqual([]);
    expect(await found({ queue, finishedBeforeMs: middle })).toEqual([old.id]);
    expect(await found({ queue, finishedAfterMs: middle })).toEqual([young.id]);
    const ended = finishedAtMs ?? 0;
    expect(await found({ queue, finishedAfterMs: ended, finishedBeforeMs: ended + 1 })).toEqual([old.id]);
  });

  test('a worker is the one that holds the job, or held it last', async () => {
    const [queue, worker] = [stage.queue(), stage.queue()];
    const one = await stage.running(queue, {}, { workerId: worker });
    await stage.settle(one);
    const two = await stage.running(queue, {}, { workerId: worker });
    await stage.running(queue);
    await stage.add(queue, { due: { inMs: HOUR } });
    expect(await found({ queue, worker })).toEqual([two.id, one.id]);
    expect(await found({ worker, status: 'processing' })).toEqual([two.id]);
    expect(await found({ queue, worker: 'nobody' })).toEqual([]);
  });

  test('what is changed between two pages moves no other job past the cursor', async () => {
    const queue = stage.queue();
    const ids: string[] = [];
    for (let index = 0; index < 6; index += 1) ids.push((await stage.ended(queue, buriedBy('x'))).id);
    const filter = { queue, status: 'buried' } as const;
    const first = await stage.storage.jobs(filter, { limit: 2 });
    await stage.storage.changeMany({ change: { kind: 'retry' }, ids: first.jobs.map(({ id }) => id) });
    const rest = await stage.storage.jobs(filter, { limit: 10, cursor: first.next ?? '' });
    expect([...first.jobs, ...rest.jobs].map(({ id }) => id)).toEqual([...ids].reverse());
  });

  test('a page with a rare filter ends after a bounded number of rows and says where to go on', async () => {
    const queue = stage.queue();
    const rare = await stage.add(queue, { name: 'rare', due: { inMs: HOUR }, tags: [queue] });
    for (let part = 0; part < 7; part += 1) await stage.addMany(queue, 1_000, { due: { inMs: HOUR } });
    const last = await stage.add(queue, { name: 'rare', due: { inMs: 2 * HOUR } });
    expect(await found({ queue, name: 'rare' }, 10)).toEqual([rare, last]);
    const createdBeforeMs = (await stage.record(rare)).createdAtMs;
    expect(await found({ queue, createdBeforeMs }, 10)).toEqual([]);
  });

  test('ahead counts the due jobs that stand before a pending one', async () => {
    const queue = stage.queue();
    const late = await stage.add(queue, { due: { inMs: HOUR } });
    const [one, two] = await stage.addMany(queue, 2);
    const urgent = await stage.add(queue, { priority: 10, name: 'other' });
    await stage.add(queue, { priority: 20, due: { inMs: HOUR } });
    const low = await stage.add(queue, { priority: -1 });
    const ahead = (id: string | undefined): Promise<number | null> => stage.storage.ahead(id ?? '');
    expect(await ahead(urgent)).toBe(0);
    expect(await ahead(one)).toBe(1);
    expect(await ahead(two)).toBe(2);
    expect(await ahead(late)).toBe(3);
    expect(await ahead(low)).toBe(3);
    const [running] = await stage.claim(queue, { names: ['other'] });
    expect(await ahead(urgent)).toBeNull();
    expect(await ahead(two)).toBe(1);
    expect(await ahead(stage.newJob(queue).id)).toBeNull();
    const blocked = await stage.add(queue, { after: { ids: [running?.id ?? ''], onFailure: 'run' } });
    expect(await ahead(blocked)).toBeNull();
  });

  test('ahead counts no further than 10,000', async () => {
    const queue = stage.queue();
    for (let part = 0; part < 11; part += 1) await stage.addMany(queue, 1_000);
    const id = await stage.add(queue, { priority: -1 });
    expect(await stage.storage.ahead(id)).toBe(10_000);
    const page = await stage.storage.jobs({ queue }, { limit: 1 });
    expect(await stage.storage.ahead(page.jobs[0]?.id ?? '')).toBe(0);
  });
}
