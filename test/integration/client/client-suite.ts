import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { MillraceOptions } from '../../../src/client/millrace-options.js';
import { uuidv7 } from '../../../src/internal/uuid.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { claimOf } from '../../support/claim-request.js';
import { openEngine, type TestEngine } from '../../support/engines.js';

const note = defineJob('note', {});
const greet = defineJob('greet', {
  input: z.object({ name: z.string().min(1), times: z.number().default(1) }),
  run: ({ input }) => `Hello ${input.name}`.repeat(input.times),
});
const fail = defineJob('fail', {
  attempts: 1,
  run: () => {
    throw new TypeError('it broke');
  },
});

interface Stage extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly millrace: Millrace;
}

/** What the client promises, on every engine. */
export function clientSuite(name: Engine): void {
  async function stage(options: MillraceOptions = {}): Promise<Stage> {
    const engine = await openEngine(name);
    const jobs: readonly JobDefinition[] = [note, greet, fail];
    const millrace: Millrace = new Millrace({ database: engine.storage, jobs, ...options });
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
    await using worker = millrace.worker({ concurrency: 5 });
    await worker.start();
    await worker.idle();
  }

  describe(`[${name}] client: handles and results`, () => {
    it('an id alone is enough to wait for a result', async () => {
      await using at = await stage();
      const { id } = await at.millrace.dispatch(greet, { name: 'Ada' });
      await worked(at.millrace);
      const handle = at.millrace.handle(id.toUpperCase(), greet);
      expect(handle).toMatchObject({ id, deduplicated: true });
      expect(await handle.result()).toBe('Hello Ada');
      expect(await at.millrace.handle(id).job()).toMatchObject({ id, status: 'completed' });
      expect(() => at.millrace.handle('12')).toThrow(expect.objectContaining({ code: 'option-invalid' }));
      expect(() => at.millrace.handle(id, 'nobody')).toThrow(
        expect.objectContaining({ code: 'job-name-unknown' }),
      );
    });

    it('a result that was cut to be stored is told as an error; the job has completed all the same', async () => {
      await using at = await stage();
      const handle = await at.millrace.dispatch(greet, { name: 'Ada', times: 200_000 });
      await worked(at.millrace);
      const bytes = 9 * 200_000 + 2;
      await expect(handle.result()).rejects.toMatchObject({
        code: 'result-too-large',
        message: expect.stringContaining(`had ${bytes} bytes`),
        details: { bytes, head: expect.stringMatching(/^"Hello AdaHello/) },
      });
      expect(await handle.job()).toMatchObject({
        status: 'completed',
        result: { $truncated: true, bytes },
      });
      const lines = await at.millrace.log(handle.id);
      expect(lines.map(({ text }) => text)).toEqual([
        `the result was changed to be stored: cut, ${bytes} bytes are over the limit of 1048576`,
      ]);
    });
  });

  describe(`[${name}] client: dispatch`, () => {
    it('writes what definition and options say', async () => {
      await using at = await stage({ attempts: 9 });
      const handle = await at.millrace.dispatch(
        'note',
        { a: 1 },
        { queue: 'mail', priority: 'urgent', delay: '1h', idempotencyKey: 'k' },
      );
      const job = await handle.job();
      expect(job).toMatchObject({
        name: 'note',
        queue: 'mail',
        status: 'pending',
        priority: 20,
        attempts: 0,
        maxAttempts: 9,
        input: { a: 1 },
        failures: [],
        waitsFor: [],
      });
      expect((job?.dueAt.getTime() ?? 0) - (job?.createdAt.getTime() ?? 0)).toBe(3_600_000);
      const runAt = new Date('2040-01-01T00:00:00Z');
      const dated = await at.millrace.dispatch(note, {}, { runAt });
      expect((await dated.job())?.dueAt).toEqual(runAt);
    });

    it('refuses an input that the schema refuses, and writes nothing', async () => {
      await using at = await stage();
      await expect(at.millrace.dispatch('greet', { name: '' })).rejects.toMatchObject({
        code: 'payload-invalid',
      });
      await expect(at.millrace.dispatch(note, { big: 10n })).rejects.toMatchObject({
        code: 'payload-invalid',
      });
      await expect(at.millrace.dispatch(note, 'x'.repeat(1024 ** 2))).rejects.toMatchObject({
        code: 'payload-too-large',
      });
      expect((await at.millrace.jobs()).jobs).toEqual([]);
    });

    it('refuses a name that no job has, when it was told which there are', async () => {
      await using at = await stage();
      await expect(at.millrace.dispatch('gret', {})).rejects.toMatchObject({ code: 'job-name-unknown' });
      const producer: Millrace = new Millrace({ database: at.engine.storage });
      expect(await producer.dispatch('anything', {})).toMatchObject({ deduplicated: false });
      await expect(producer.dispatch('no spaces', {})).rejects.toMatchObject({ code: 'job-name-invalid' });
      await producer.close();
    });

    it('of an id that is there already answers with that job', async () => {
      await using at = await stage();
      const id = uuidv7();
      expect(await at.millrace.dispatch(note, { n: 1 }, { id })).toMatchObject({ id, deduplicated: false });
      expect(await at.millrace.dispatch(note, { n: 2 }, { id })).toMatchObject({ id, deduplicated: true });
      expect((await at.millrace.job(id))?.input).toEqual({ n: 1 });
    });

    it('of a unique job answers with the one that waits, whatever the order of its keys', async () => {
      await using at = await stage();
      const one = await at.millrace.dispatch(note, { a: 1, b: { c: 2, d: 3 } }, { unique: true });
      const again = await at.millrace.dispatch(note, { b: { d: 3, c: 2 }, a: 1 }, { unique: true });
      expect(again).toMatchObject({ id: one.id, deduplicated: true });
      const others = await Promise.all([
        at.millrace.dispatch(note, { a: 2 }, { unique: true }),
        at.millrace.dispatch('greet', { name: 'x' }, { unique: { key: 'k' } }),
        at.millrace.dispatch(note, {}, { unique: { key: 'k' } }),
        at.millrace.dispatch(note, { a: 1, b: { c: 2, d: 3 } }),
      ]);
      expect(others.some(({ deduplicated }) => deduplicated)).toBe(false);
      await one.cancel();
      expect(
        (await at.millrace.dispatch(note, { a: 1, b: { c: 2, d: 3 } }, { unique: true })).deduplicated,
      ).toBe(false);
    });

    it('of one idempotency key answers with the first job, and refuses another input', async () => {
      await using at = await stage();
      const one = await at.millrace.dispatch(note, { a: 1, b: 2 }, { idempotencyKey: 'order-17' });
      const again = await at.millrace.dispatch(note, { b: 2, a: 1 }, { idempotencyKey: 'order-17' });
      expect(again).toMatchObject({ id: one.id, deduplicated: true });
      await expect(
        at.millrace.dispatch(note, { a: 2 }, { idempotencyKey: 'order-17' }),
      ).rejects.toMatchObject({
        code: 'idempotency-conflict',
        details: { conflictsWith: one.id },
      });
    });

    it('waits for the jobs it comes after', async () => {
      await using at = await stage();
      const first = await at.millrace.dispatch('greet', { name: 'a' });
      const second = await at.millrace.dispatch('greet', { name: 'b' }, { after: first });
      const both = await at.millrace.dispatch('greet', { name: 'c' }, { after: [first.id, second] });
      expect(await both.job()).toMatchObject({
        status: 'blocked',
        waitsFor: expect.arrayContaining([first.id]),
      });
      await worked(at.millrace);
      expect(await both.result({ timeout: '5s' })).toBe('Hello c');
      await expect(at.millrace.dispatch(note, {}, { after: uuidv7() })).rejects.toMatchObject({
        code: 'parent-not-found',
      });
    });

    it('follows its policy when what it waits for fails', async () => {
      await using at = await stage();
      const parent = await at.millrace.dispatch('fail');
      const handles = await Promise.all([
        at.millrace.dispatch('greet', { name: 'a' }, { after: parent }),
        at.millrace.dispatch('greet', { name: 'b' }, { after: { jobs: parent, onFailure: 'cancel' } }),
        at.millrace.dispatch('greet', { name: 'c' }, { after: { jobs: [parent], onFailure: 'run' } }),
      ]);
      await worked(at.millrace);
      const outcomes = await Promise.allSettled(handles.map((handle) => handle.result({ timeout: '5s' })));
      expect(outcomes).toMatchObject([
        { reason: { code: 'job-failed' } },
        { reason: { code: 'job-cancelled' } },
        { value: 'Hello c' },
      ]);
    });
  });

  describe(`[${name}] client: bulk dispatch`, () => {
    it('takes any mix, in chunks, and answers in order', async () => {
      await using at = await stage();
      const taken = uuidv7();
      await at.millrace.dispatch(note, 'first', { id: taken });
      const handles = await at.millrace.dispatchMany([
        ...Array.from({ length: 1500 }, (_, n) => ({ job: 'note', input: { n } })),
        { job: greet, input: { name: 'Ada' }, options: { queue: 'other' } },
        { job: note, input: 'again', options: { id: taken } },
      ]);
      expect(handles).toHaveLength(1502);
      expect(handles.filter(({ deduplicated }) => deduplicated).map(({ id }) => id)).toEqual([taken]);
      expect((await handles[1234]?.job())?.input).toEqual({ n: 1234 });
      expect((await at.millrace.stats('default')).pending).toBe(1501);
      expect((await at.millrace.stats('other')).pending).toBe(1);
    });

    it('orders jobs that wait for each other, across chunks too', async () => {
      await using at = await stage();
      const ids = Array.from({ length: 1200 }, () => uuidv7());
      const handles = await at.millrace.dispatchMany(
        ids.map((id, index) => ({
          job: 'note',
          input: index,
          options: { id, after: index + 1 < ids.length ? [ids[index + 1] as string] : [] },
        })),
      );
      expect(handles.map(({ id }) => id)).toEqual(ids);
      expect(await at.millrace.stats('default')).toMatchObject({ pending: 1, blocked: 1199 });
    });

    it('refuses a circle and writes nothing', async () => {
      await using at = await stage();
      const [a, b] = [uuidv7(), uuidv7()];
      const circle = at.millrace.dispatchMany([
        { job: 'note', options: { id: a, after: b } },
        { job: 'note', options: { id: b, after: a } },
      ]);
      await expect(circle).rejects.toMatchObject({ code: 'dependency-cycle', details: { path: [a, b, a] } });
      expect((await at.millrace.jobs()).jobs).toEqual([]);
    });

    it('checks all before it writes the first, and names those that are wrong', async () => {
      await using at = await stage();
      const bulk = at.millrace.dispatchMany([
        { job: 'note', input: 1 },
        { job: 'greet', input: { name: 5 } },
        { job: 'note', input: 1n },
      ]);
      await expect(bulk).rejects.toMatchObject({ code: 'payload-invalid', details: { indexes: [1, 2] } });
      expect((await at.millrace.jobs()).jobs).toEqual([]);
    });

    it('tells which jobs were refused, and writes the others', async () => {
      await using at = await stage();
      await at.millrace.dispatch(note, 1, { idempotencyKey: 'k' });
      const bulk = at.millrace.dispatchMany([
        { job: 'note', input: 'a' },
        { job: 'note', input: 2, options: { idempotencyKey: 'k' } },
        { job: 'note', input: 'b' },
      ]);
      await expect(bulk).rejects.toMatchObject({
        code: 'idempotency-conflict',
        details: {
          refused: [{ index: 1, code: 'idempotency-conflict' }],
          ids: [expect.any(String), null, expect.any(String)],
        },
      });
      expect((await at.millrace.stats('default')).pending).toBe(3);
    });
  });

  describe(`[${name}] client: results`, () => {
    it('come from a worker elsewhere as from one here', async () => {
      await using at = await stage();
      const elsewhere: Millrace = new Millrace({ database: at.engine.storage, jobs: [greet, fail] });
      await using worker = elsewhere.worker();
      await worker.start();
      const handle = await at.millrace.dispatch(greet, { name: 'Ada', times: 2 });
      expect(await handle.result({ timeout: '10s' })).toBe('Hello AdaHello Ada');
      await expect((await at.millrace.dispatch(fail)).result({ timeout: '10s' })).rejects.toMatchObject({
        code: 'job-failed',
        cause: { name: 'TypeError', message: 'it broke' },
        details: { reason: 'attempts-exhausted' },
      });
      await worker.stop();
      await elsewhere.close();
    });

    it('of a job that nobody runs time out with its status', async () => {
      await using at = await stage();
      const handle = await at.millrace.dispatch(note, {}, { delay: '1h' });
      await expect(handle.result({ timeout: 60 })).rejects.toMatchObject({
        code: 'result-timeout',
        details: { status: 'pending' },
      });
    });

    it('of a job that is cancelled or deleted meanwhile say so', async () => {
      await using at = await stage();
      const [one, two] = [await at.millrace.dispatch(note), await at.millrace.dispatch(note)];
      const results = Promise.allSettled([one.result(), two.result()]);
      expect(await one.cancel()).toBe('done');
      expect(await at.millrace.delete(two.id)).toBe('done');
      expect(await results).toMatchObject([
        { reason: { code: 'job-cancelled' } },
        { reason: { code: 'job-not-found' } },
      ]);
      expect(await two.job()).toBeNull();
    });
  });

  describe(`[${name}] client: operators`, () => {
    it('retry, bury, cancel and delete answer what happened', async () => {
      await using at = await stage();
      const { millrace } = at;
      const { id } = await millrace.dispatch(note, {}, { delay: '1h' });
      expect(await millrace.bury(id)).toBe('done');
      expect(await millrace.cancel(id)).toBe('already-final');
      expect(await millrace.job(id)).toMatchObject({ status: 'buried', reason: 'operator' });
      expect(await millrace.retry(id)).toBe('done');
      expect(await millrace.job(id)).toMatchObject({ status: 'pending' });
      expect(await millrace.cancel(id)).toBe('done');
      expect(await millrace.delete(id.toUpperCase())).toBe('done');
      expect(await millrace.retry(id)).toBe('not-found');
      await expect(millrace.retry('x')).rejects.toMatchObject({ code: 'option-invalid' });
    });

    it('retryBuried takes all of a queue, however many, but for those whose key is held', async () => {
      await using at = await stage();
      const { millrace } = at;
      const old = await millrace.dispatch(note, 'same', { unique: true });
      await millrace.bury(old.id);
      await millrace.dispatch(note, 'same', { unique: true });
      const handles = await millrace.dispatchMany(
        Array.from({ length: 601 }, (_, n) => ({
          job: 'note',
          input: n,
          options: { queue: n < 600 ? 'default' : 'x' },
        })),
      );
      await Promise.all(handles.map(({ id }) => millrace.bury(id)));
      expect(await millrace.retryBuried({ queue: 'default' })).toEqual({ retried: 600, duplicates: 1 });
      expect(await millrace.retryBuried()).toEqual({ retried: 1, duplicates: 1 });
    });

    it('pause keeps a queue from being worked, resume lets it go on', async () => {
      await using at = await stage();
      const { millrace } = at;
      await millrace.pause('default');
      const handle = await millrace.dispatch('greet', { name: 'a' });
      expect(await millrace.isPaused('default')).toBe(true);
      expect(await millrace.queues()).toContain('default');
      await worked(millrace);
      expect(await handle.job()).toMatchObject({ status: 'pending' });
      expect(await millrace.stats('default')).toMatchObject({ paused: true, pending: 1, claimable: 0 });
      await millrace.resume('default');
      await worked(millrace);
      expect(await handle.result()).toBe('Hello a');
      await expect(millrace.pause('no spaces')).rejects.toMatchObject({ code: 'queue-name-invalid' });
    });

    it('purge deletes what ended, by age and status', async () => {
      await using at = await stage();
      const { millrace } = at;
      const ids = (await millrace.dispatchMany([1, 2, 3].map((input) => ({ job: 'note', input })))).map(
        ({ id }) => id,
      );
      await millrace.cancel(ids[0] as string);
      await millrace.bury(ids[1] as string);
      expect(await millrace.purge()).toBe(0);
      at.engine.clock.advance(8 * 86_400_000);
      expect(await millrace.purge()).toBe(1);
      expect(await millrace.purge({ olderThan: '1d', statuses: ['buried'] })).toBe(1);
      expect((await millrace.jobs()).jobs.map(({ id }) => id)).toEqual([ids[2]]);
      await expect(millrace.purge({ statuses: ['buried', 'pending' as never] })).rejects.toMatchObject({
        code: 'option-invalid',
        message: expect.stringContaining(`'completed', 'buried' or 'cancelled', got "pending"`),
      });
    });
  });

  describe(`[${name}] client: looking`, () => {
    it('pages through jobs, and iterates over all', async () => {
      await using at = await stage();
      const { millrace } = at;
      await millrace.dispatchMany(Array.from({ length: 25 }, (_, n) => ({ job: 'note', input: n })));
      await millrace.dispatch('greet', { name: 'x' }, { queue: 'other' });
      const seen: string[] = [];
      let cursor: string | null | undefined;
      while (cursor !== null) {
        const page = await millrace.jobs({ name: 'note', limit: 10, cursor });
        expect(page.jobs.length).toBeLessThanOrEqual(10);
        seen.push(...page.jobs.map(({ id }) => id));
        cursor = page.next;
      }
      expect(new Set(seen).size).toBe(25);
      const all = [];
      for await (const job of millrace.eachJob({ limit: 7 })) all.push(job);
      expect(all).toHaveLength(26);
      expect((await millrace.jobs({ queue: 'other', status: 'pending' })).jobs).toHaveLength(1);
      await expect(millrace.jobs({ limit: 0 })).rejects.toMatchObject({ code: 'option-invalid' });
      await expect(millrace.jobs({ stauts: 'x' } as never)).rejects.toMatchObject({ code: 'option-unknown' });
    });

    it('knows the numbers of an unknown queue, and of none', async () => {
      await using at = await stage();
      expect(await at.millrace.stats()).toEqual([]);
      expect(await at.millrace.stats('empty')).toMatchObject({ queue: 'empty', pending: 0, completed: 0 });
    });

    it('shows what a handler logged, and the workers', async () => {
      await using at = await stage();
      const talk = defineJob('talk', {
        run: ({ log, progress }) => {
          log.info('hello', { n: 1 });
          progress(1, 2);
        },
      });
      const millrace: Millrace = new Millrace({ database: at.engine.storage, jobs: [talk] });
      await using worker = millrace.worker({ queues: ['default'] });
      await worker.start();
      expect(await millrace.workers()).toMatchObject([
        { id: worker.id, status: 'active', handlers: ['talk'] },
      ]);
      const handle = await millrace.dispatch('talk');
      expect(await handle.result({ timeout: '5s' })).toBeUndefined();
      const lines = await millrace.log(handle.id);
      expect(lines.map(({ kind, level }) => [kind, level])).toEqual([
        ['log', 'info'],
        ['progress', 'info'],
      ]);
      expect(await millrace.log(handle.id, { after: lines[0]?.cursor, limit: 5 })).toEqual(lines.slice(1));
      await worker.stop();
      expect(await millrace.workers()).toMatchObject([{ status: 'offline' }]);
      await millrace.close();
    });

    it('recovers expired leases when asked to', async () => {
      await using at = await stage();
      const { millrace, engine } = at;
      const { id } = await millrace.dispatch(note);
      const token = '0123456789abcdef'.repeat(2);
      const claim = claimOf({
        token,
        workerId: 'w-gone',
        leaseMs: 1000,
        queues: ['default'],
        names: ['note'],
        limit: 1,
        start: 1,
        alone: false,
      });
      expect(await engine.storage.claim(claim)).toHaveLength(1);
      expect(await millrace.recover()).toMatchObject({ retried: {}, waiting: 0 });
      engine.clock.advance(2000);
      expect(await millrace.recover()).toMatchObject({ retried: {}, waiting: 1 });
      expect(await millrace.recover({ force: true })).toMatchObject({ retried: { default: 1 }, waiting: 0 });
      expect(await millrace.job(id)).toMatchObject({ status: 'pending', deaths: 1, attempts: 0 });
    });
  });

  describe(`[${name}] client: events`, () => {
    it('tell of the life of jobs, and listeners that fail disturb nothing', async () => {
      const logged: string[] = [];
      const quiet = (): void => undefined;
      const logger = {
        debug: quiet,
        info: quiet,
        warn: quiet,
        error: (text: string) => void logged.push(text),
      };
      await using at = await stage({ logger });
      const { millrace } = at;
      const told: string[] = [];
      const errors: unknown[] = [];
      for (const event of ['job:dispatched', 'job:started', 'job:completed', 'job:buried'] as const) {
        millrace.on(event, ({ name: job }) => {
          told.push(`${event} ${job}`);
          throw new Error('a bad listener');
        });
      }
      millrace.on('error', async ({ error }) => {
        errors.push(error);
        throw new Error('a bad listener of errors');
      });
      const stop = millrace.on('job:completed', () => told.push('never'));
      stop();
      const [one, two] = [await millrace.dispatch('greet', { name: 'a' }), await millrace.dispatch('fail')];
      await worked(millrace);
      await Promise.allSettled([one.result(), two.result()]);
      expect(told.sort()).toEqual([
        'job:buried fail',
        'job:completed greet',
        'job:dispatched fail',
        'job:dispatched greet',
        'job:started fail',
        'job:started greet',
      ]);
      expect(errors).toHaveLength(6);
      expect(logged.filter((text) => text.includes('listener'))).toHaveLength(12);
    });
  });
}
