import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { JobProgress } from '../../../src/client/progress-watcher.js';
import { hasErrorCode } from '../../../src/internal/errors.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { openEngine, type TestEngine } from '../../support/engines.js';

const note = defineJob('note', { tags: ['noted', 'all'] });
const greet = defineJob('greet', {
  input: z.object({ name: z.string().min(1) }),
  run: ({ input }) => `Hello ${input.name}`,
});
const fail = defineJob('fail', {
  attempts: 1,
  run: ({ input }: { input: unknown }) => {
    throw new TypeError(String(input));
  },
});
const count = defineJob('count', {
  async run({
    input,
    progress,
  }: {
    input: unknown;
    progress: (done: number, total?: number, note?: string) => void;
  }) {
    const steps = Number(input);
    for (let step = 1; step <= steps; step += 1) {
      progress(step, steps, step === steps ? 'all' : undefined);
      await pause(5);
    }
    return steps;
  },
});

interface Stage extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly millrace: Millrace;
}

/** Changing, finding, awaiting and watching jobs by the client, on every engine. */
export function controlSuite(name: Engine): void {
  async function stage(): Promise<Stage> {
    const engine = await openEngine(name);
    const jobs: readonly JobDefinition[] = [note, greet, fail, count];
    const millrace: Millrace = new Millrace({ database: engine.storage, jobs });
    return {
      engine,
      millrace,
      async [Symbol.asyncDispose]() {
        await millrace.close();
        await engine[Symbol.asyncDispose]();
      },
    };
  }

  async function worked(millrace: Millrace): Promise<void> {
    await using worker = millrace.worker({ concurrency: 5, queues: ['default', 'other'] });
    await worker.start();
    await worker.idle();
  }

  describe(`[${name}] client: tags and lists`, () => {
    it('a dispatch has the tags of its definition, or its own', async () => {
      await using at = await stage();
      const one = await at.millrace.dispatch(note, 1);
      const two = await at.millrace.dispatch(note, 2, { tags: ['b', 'a', 'b'] });
      const [three] = await at.millrace.dispatchMany([{ job: note, input: 3, options: { tags: [] } }]);
      expect((await one.job())?.tags).toEqual(['all', 'noted']);
      expect((await two.job())?.tags).toEqual(['a', 'b']);
      expect((await three?.job())?.tags).toEqual([]);
      expect((await at.millrace.jobs({ tag: 'noted' })).jobs.map(({ id }) => id)).toEqual([one.id]);
      await expect(at.millrace.dispatch(note, 1, { tags: ['a b'] })).rejects.toThrow(/option "tags"/);
    });

    it('lists by error, worker and time, in words or moments', async () => {
      await using at = await stage();
      const bad = await at.millrace.dispatch(fail, 'Out of paper');
      const good = await at.millrace.dispatch(greet, { name: 'Ada' });
      await worked(at.millrace);
      const ids = async (where: Parameters<Millrace['jobs']>[0]): Promise<string[]> =>
        (await at.millrace.jobs(where)).jobs.map(({ id }) => id);
      expect(await ids({ errorText: 'of PAPER' })).toEqual([bad.id]);
      const worker = (await good.job())?.workerId ?? '';
      expect(await ids({ worker, status: 'completed' })).toEqual([good.id]);
      at.engine.clock.advance(3_600_000);
      expect(await ids({ finishedBefore: '30m' })).toHaveLength(2);
      expect(await ids({ createdAfter: '30m' })).toEqual([]);
      const bornAt = (await good.job())?.createdAt ?? new Date();
      expect(await ids({ createdAfter: bornAt, name: 'greet' })).toEqual([good.id]);
      const wrong = { createdAfter: 'yesterday', status: 'done', errorText: '' } as never;
      await expect(at.millrace.jobs(wrong)).rejects.toThrow(/3 problems/);
    });
  });

  describe(`[${name}] client: edit`, () => {
    it('changes what is given and runs with it', async () => {
      await using at = await stage();
      const handle = await at.millrace.dispatch(greet, { name: 'Ada' }, { delay: '1h' });
      const edit = { input: { name: 'Grace' }, priority: 'high', queue: 'other', delay: 0 } as const;
      expect(await at.millrace.edit(handle.id, edit)).toBe('done');
      expect(await handle.job()).toMatchObject({ priority: 10, queue: 'other', input: { name: 'Grace' } });
      await worked(at.millrace);
      expect(await handle.result()).toBe('Hello Grace');
      expect(await at.millrace.edit(handle.id, { priority: 1 })).toBe('already-final');
    });

    it('refuses an input that the schema refuses, options that are none, and nothing at all', async () => {
      await using at = await stage();
      const handle = await at.millrace.dispatch(greet, { name: 'Ada' }, { delay: '1h' });
      await expect(at.millrace.edit(handle.id, { input: { name: '' } })).rejects.toMatchObject({
        code: 'payload-invalid',
      });
      await expect(at.millrace.edit(handle.id, { prio: 1 } as never)).rejects.toThrow(/no option "prio"/);
      await expect(at.millrace.edit(handle.id, {})).rejects.toThrow(/something to change/);
      await expect(at.millrace.edit(handle.id, { delay: '1h', runAt: 1 })).rejects.toThrow(/contradict/);
      await expect(at.millrace.edit('short', { priority: 1 })).rejects.toThrow(/full id/);
      expect(await handle.job()).toMatchObject({ input: { name: 'Ada' }, priority: 0 });
    });

    it('leaves the input of a job it does not know to who runs it', async () => {
      await using at = await stage();
      const producer = new Millrace({ database: at.engine.storage });
      const handle = await producer.dispatch('greet', { name: 'Ada' }, { delay: '1h' });
      expect(await producer.edit(handle.id, { input: { name: '' } })).toBe('done');
      await producer.close();
    });
  });

  describe(`[${name}] client: many at once`, () => {
    async function buriedThree(at: Stage): Promise<string[]> {
      const handles = await at.millrace.dispatchMany([
        { job: fail, input: 'timeout of api' },
        { job: fail, input: 'no such user' },
        { job: fail, input: 'Timeout of db', options: { tags: ['db'] } },
      ]);
      await worked(at.millrace);
      return handles.map(({ id }) => id);
    }

    it('a dry run counts and shows, and changes nothing', async () => {
      await using at = await stage();
      const [one, , three] = await buriedThree(at);
      const where = { errorText: 'timeout', name: 'fail' };
      const report = await at.millrace.retryMany({ where, dryRun: true });
      expect(report).toMatchObject({ dryRun: true, matched: 2, done: 0, requested: 0, skipped: 0 });
      expect(new Set(report.sample.map(({ id }) => id))).toEqual(new Set([three, one]));
      expect((await at.millrace.stats('default')).pending).toBe(0);
      expect(await at.millrace.retryMany({ where })).toMatchObject({
        matched: 2,
        done: 2,
        outcomes: { done: 2 },
      });
      expect((await at.millrace.stats('default')).pending).toBe(2);
    });

    it('takes those the change is made for, and more only when asked', async () => {
      await using at = await stage();
      const waiting = await at.millrace.dispatch(note, 1, { delay: '1h' });
      const blocked = await at.millrace.dispatch(note, 2, { after: waiting });
      await buriedThree(at);
      expect(await at.millrace.retryMany({ where: { queue: 'default' } })).toMatchObject({
        matched: 3,
        done: 3,
      });
      const cancelled = await at.millrace.cancelMany({ where: { tag: 'noted' } });
      expect(cancelled).toMatchObject({ matched: 2, done: 2 });
      expect(await blocked.job()).toMatchObject({ status: 'cancelled', reason: 'operator' });
      const gone = await at.millrace.deleteMany({ where: { status: 'cancelled' } });
      expect(gone).toMatchObject({ matched: 2, done: 2 });
      expect(await waiting.job()).toBeNull();
      expect(await at.millrace.deleteMany({ where: { name: 'fail' } })).toMatchObject({ matched: 3 });
      expect((await at.millrace.jobs()).jobs).toEqual([]);
    });

    it('buries what has not ended, and leaves what has', async () => {
      await using at = await stage();
      const waiting = await at.millrace.dispatch(note, 1, { delay: '1h' });
      const blocked = await at.millrace.dispatch(note, 2, { after: waiting });
      const done = await at.millrace.dispatch(greet, { name: 'Ada' });
      await worked(at.millrace);
      const where = { queue: 'default' };
      expect(await at.millrace.buryMany({ where, dryRun: true })).toMatchObject({ matched: 2, done: 0 });
      expect(await at.millrace.buryMany({ where })).toMatchObject({ matched: 2, done: 2 });
      expect(await waiting.job()).toMatchObject({ status: 'buried', reason: 'operator' });
      expect(await blocked.job()).toMatchObject({ status: 'buried' });
      expect(await done.job()).toMatchObject({ status: 'completed' });
      await expect(at.millrace.buryMany({ where: { status: 'completed' } })).rejects.toThrow(
        /a bury is for jobs that are blocked, pending, processing, not completed/,
      );
    });

    it('edits waiting ones, each once, also when it moves them', async () => {
      await using at = await stage();
      const entries = Array.from({ length: 1_200 }, (_, n) => ({ job: note, input: n }));
      await at.millrace.dispatchMany(entries);
      const edit = { delay: '2h', priority: 5, queue: 'other' } as const;
      const report = await at.millrace.editMany({ where: { queue: 'default' }, edit });
      expect(report).toMatchObject({ matched: 1_200, done: 1_200, skipped: 0 });
      const again = { delay: '1h', input: 'new' } as const;
      const where = { name: 'note', createdBefore: '0s' };
      expect(await at.millrace.editMany({ where, edit: again })).toMatchObject({
        matched: 1_200,
        done: 1_200,
      });
      const page = await at.millrace.jobs({ limit: 1000 });
      expect(new Set(page.jobs.map(({ queue, priority }) => `${queue} ${priority}`))).toEqual(
        new Set(['other 5']),
      );
    });

    it('refuses what would mean all jobs, or can mean none', async () => {
      await using at = await stage();
      const { millrace } = at;
      await expect(millrace.deleteMany({ where: {} })).rejects.toThrow(/at least one of status, queue/);
      await expect(millrace.deleteMany({} as never)).rejects.toThrow(/where/);
      await expect(millrace.retryMany({ where: { status: 'completed' } })).rejects.toThrow(
        /buried, cancelled/,
      );
      const edit = { input: 1 };
      await expect(millrace.editMany({ where: { tag: 'x' }, edit })).rejects.toThrow(
        /"where.name" is needed/,
      );
      await expect(millrace.editMany({ where: { tag: 'x' }, edit: {} })).rejects.toThrow(
        /something to change/,
      );
      await expect(millrace.cancelMany({ where: { nam: 'x' } as never })).rejects.toThrow(/where.nam/);
      const wrongInput = { where: { name: 'greet' }, edit: { input: { name: '' } } };
      await expect(millrace.editMany(wrongInput)).rejects.toMatchObject({ code: 'payload-invalid' });
    });
  });

  describe(`[${name}] client: await and watch`, () => {
    it('dispatchAndWait answers with the result, or says why there is none', async () => {
      await using at = await stage();
      await using worker = at.millrace.worker();
      await worker.start();
      expect(await at.millrace.dispatchAndWait(greet, { name: 'Ada' }, { timeout: '10s' })).toBe('Hello Ada');
      await expect(at.millrace.dispatchAndWait(fail, 'no')).rejects.toMatchObject({ code: 'job-failed' });
      const late = at.millrace.dispatchAndWait(greet, { name: 'x' }, { delay: '1h', timeout: 20 });
      await expect(late).rejects.toMatchObject({ code: 'result-timeout' });
      const before = (await at.millrace.jobs()).jobs.length;
      const bad = at.millrace.dispatchAndWait(greet, { name: 'x' }, { timeout: 'soon' });
      await expect(bad).rejects.toMatchObject({ code: 'option-invalid' });
      const signal = AbortSignal.abort();
      const given = at.millrace.dispatchAndWait(greet, { name: 'x' }, { signal });
      await expect(given).rejects.toMatchObject({ code: 'aborted' });
      expect((await at.millrace.jobs()).jobs).toHaveLength(before);
    });

    it('progress tells every stored line in order, the last one too, and ends with the job', async () => {
      await using at = await stage();
      await using worker = at.millrace.worker();
      const handle = await at.millrace.dispatch(count, 30);
      const watching = allOf(handle.progress({ timeout: '20s' }));
      await worker.start();
      const seen = await watching;
      expect(seen.at(-1)).toMatchObject({ done: 30, total: 30, note: 'all' });
      expect(seen[0]).toMatchObject({ done: 1, total: 30, note: undefined });
      expect(seen.map(({ done }) => done)).toEqual([...seen.map(({ done }) => done)].sort((a, b) => a - b));
      expect(seen[0]?.at).toBeInstanceOf(Date);
      const later = await allOf(at.millrace.handle(handle.id).progress());
      expect(later).toEqual(seen);
    });

    it('progress of a job that waits ends by deadline, signal, deletion or close', async () => {
      await using at = await stage();
      const handle = await at.millrace.dispatch(note, 1, { delay: '1h' });
      const reason = async (iterable: AsyncIterable<JobProgress>): Promise<unknown> =>
        allOf(iterable).catch((error: unknown) => error);
      expect(await reason(handle.progress({ timeout: 30 }))).toMatchObject({ code: 'result-timeout' });
      const given = new AbortController();
      const aborted = reason(handle.progress({ signal: given.signal }));
      setImmediate(() => given.abort());
      expect(await aborted).toMatchObject({ code: 'aborted' });
      const deleted = reason(handle.progress());
      await at.millrace.delete(handle.id);
      expect(await deleted).toMatchObject({ code: 'job-not-found' });
      const other = new Millrace({ database: at.engine.storage });
      const last = await other.dispatch('x', 1, { delay: '1h' });
      const closing = reason(last.progress());
      await other.close();
      expect(await closing).toSatisfy((error) => hasErrorCode(error, 'closed'));
    });
  });
}

async function allOf(iterable: AsyncIterable<JobProgress>): Promise<JobProgress[]> {
  const all: JobProgress[] = [];
  for await (const one of iterable) all.push(one);
  return all;
}
