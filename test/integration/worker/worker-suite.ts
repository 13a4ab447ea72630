import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import { NonRetriable, RetryAfter } from '../../../src/client/outcomes.js';
import { waitFor } from '../../support/wait-for.js';

export interface WorkerSuiteOptions {
  readonly name: 'memory' | 'sqlite' | 'postgres' | 'mysql';
  /** An empty database, ready to use. */
  readonly open: () => Promise<AsyncDisposable & { readonly url: string }>;
}

type Client = Millrace<readonly JobDefinition[]>;

/** What a worker promises its jobs, on every engine. */
export function workerSuite({ name, open }: WorkerSuiteOptions): void {
  const clientOf = (url: string, jobs: readonly JobDefinition[], options = {}): Client =>
    new Millrace({
      database: url,
      jobs,
      migrate: 'auto',
      workerSleep: '200ms',
      killGrace: '100ms',
      ...options,
    });

  describe(`[${name}] worker: outcomes`, () => {
    it('keeps the value of a handler as its result', async () => {
      await using database = await open();
      const add = defineJob('add', {
        run: ({ input }: { input: { a: number; b: number } }) => input.a + input.b,
      });
      await using millrace = clientOf(database.url, [add]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(add, { a: 2, b: 3 });
      expect(await handle.result({ timeout: '10s' })).toBe(5);
      const job = await millrace.job(handle.id);
      expect(job).toMatchObject({ status: 'completed', attempts: 0, deaths: 0 });
    });

    it('retries a throw after its backoff, and buries it with its failures when the attempts are used up', async () => {
      await using database = await open();
      const starts: number[] = [];
      const fail = defineJob('fail', {
        attempts: 3,
        backoff: { type: 'fixed', base: 10, jitter: false },
        run: ({ attempt }) => {
          starts.push(attempt);
          throw new Error(`no ${attempt}`);
        },
      });
      await using millrace = clientOf(database.url, [fail]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(fail, {});
      await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
      expect(starts).toEqual([1, 2, 3]);
      const job = await millrace.job(handle.id);
      expect(job).toMatchObject({ status: 'buried', attempts: 3, reason: 'attempts-exhausted' });
      expect(job?.failures.map(({ attempt, error }) => [attempt, error.message])).toEqual([
        [1, 'no 1'],
        [2, 'no 2'],
        [3, 'no 3'],
      ]);
    });

    it('buries at once what throws NonRetriable, and waits as long as RetryAfter says', async () => {
      await using database = await open();
      const given = defineJob('given', { run: () => Promise.reject(new NonRetriable('never')) });
      const later = defineJob('later', {
        run: ({ attempt }) => {
          if (attempt === 1) throw new RetryAfter('1h');
        },
      });
      await using millrace = clientOf(database.url, [given, later]);
      await using worker = millrace.worker();
      await worker.start();
      const first = await millrace.dispatch(given, {});
      const second = await millrace.dispatch(later, {});
      await expect(first.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
      expect(await first.job()).toMatchObject({ status: 'buried', attempts: 1, reason: 'non-retriable' });
      await waitFor(async () => (await second.job())?.attempts === 1, {
        describe: 'the first attempt to be charged',
      });
      const job = await second.job();
      expect(job?.status).toBe('pending');
      expect((job?.dueAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
    });

    it('snoozes and cancels by what the handler returns, charging nothing', async () => {
      await using database = await open();
      const doze = defineJob('doze', { run: (context) => context.snooze('1h') });
      const quit = defineJob('quit', { run: (context) => context.cancel('no longer wanted') });
      await using millrace = clientOf(database.url, [doze, quit]);
      await using worker = millrace.worker();
      await worker.start();
      const dozing = await millrace.dispatch(doze, {});
      const quitting = await millrace.dispatch(quit, {});
      await expect(quitting.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-cancelled' });
      expect(await quitting.job()).toMatchObject({
        status: 'cancelled',
        attempts: 0,
        reason: 'no longer wanted',
      });
      const job = await waitFor(
        async () => {
          const found = await dozing.job();
          return found !== null && found.dueAt.getTime() - Date.now() > 3_500_000 ? found : null;
        },
        { describe: 'the job to be snoozed' },
      );
      expect(job).toMatchObject({ status: 'pending', attempts: 0 });
    });

    it('ends a job whose words no database can keep as they are, and keeps what it can of them', async () => {
      await using database = await open();
      const odd = defineJob('odd', {
        run: (context) => {
          context.log.info('a\0b \ud800 😀');
          context.progress(1, 2, 'n\0 \ud800');
          return context.cancel(`c\0d \ud800 😀 ${'x'.repeat(100_000)}`);
        },
      });
      await using millrace = clientOf(database.url, [odd]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(odd, {}, { idempotencyKey: 'i\0 \ud800' });
      await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-cancelled' });
      const job = await handle.job();
      expect(job?.reason?.startsWith('c␀d \ufffd 😀 xxx')).toBe(true);
      expect(Buffer.byteLength(job?.reason ?? '')).toBeLessThanOrEqual(8 * 1024);
      const lines = await millrace.log(handle.id);
      expect(lines.map(({ text }) => text)[0]).toBe('a␀b \ufffd 😀');
    });

    it('completes with what can be stored of a result that cannot be written as it is', async () => {
      await using database = await open();
      const odd = defineJob('odd', {
        run: () => {
          const cyclic: Record<string, unknown> = { big: 2n ** 70n, nul: 'a\0b', lone: '\ud800' };
          cyclic['self'] = cyclic;
          return cyclic;
        },
      });
      await using millrace = clientOf(database.url, [odd]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(odd, {});
      expect(await handle.result({ timeout: '10s' })).toMatchObject({
        big: String(2n ** 70n),
        nul: 'a\0b',
        lone: '\ud800',
      });
    });

    it('ends an attempt whose error is 2 MB or has a getter that throws', async () => {
      await using database = await open();
      const huge = defineJob('huge', {
        attempts: 1,
        run: () => Promise.reject(new Error(`x\0${'y'.repeat(2_000_000)}`)),
      });
      const trap = defineJob('trap', {
        attempts: 1,
        run: () => {
          throw Object.defineProperty({}, 'message', {
            get() {
              throw new Error('trap');
            },
          });
        },
      });
      await using millrace = clientOf(database.url, [huge, trap]);
      await using worker = millrace.worker();
      await worker.start();
      const handles = [await millrace.dispatch(huge, {}), await millrace.dispatch(trap, {})];
      for (const handle of handles) {
        await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
        expect((await handle.job())?.failures).toHaveLength(1);
      }
    });
  });

  describe(`[${name}] worker: time and signals`, () => {
    it('fires the signal at the timeout, and settles a handler that ignores it after the grace', async () => {
      await using database = await open();
      const reasons: unknown[] = [];
      let release: () => void = () => undefined;
      const deaf = defineJob('deaf', {
        timeout: '150ms',
        attempts: 1,
        run: async ({ signal }) => {
          signal.addEventListener('abort', () => reasons.push(signal.reason));
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          return 'late';
        },
      });
      await using millrace = clientOf(database.url, [deaf]);
      await using worker = millrace.worker({ concurrency: 1 });
      await worker.start();
      const handle = await millrace.dispatch(deaf, {});
      await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
      expect(reasons).toMatchObject([{ code: 'attempt-timed-out' }]);
      expect((await handle.job())?.failures[0]).toMatchObject({ kind: 'timed-out' });
      expect(worker.running).toBe(1);
      release();
      await waitFor(() => worker.running === 0, { describe: 'the slot to be free again' });
      expect((await handle.job())?.status).toBe('buried');
    });

    it('fires the signal of a job that is cancelled while it runs, within 2 s', async () => {
      await using database = await open();
      let firedAt = 0;
      const long = defineJob('long', {
        run: ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              firedAt = performance.now();
              reject(signal.reason);
            });
          }),
      });
      await using millrace = clientOf(database.url, [long]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(long, {});
      await waitFor(() => worker.running === 1, { describe: 'the job to run' });
      const askedAt = performance.now();
      await handle.cancel();
      await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-cancelled' });
      expect(firedAt - askedAt).toBeLessThan(2_000);
      expect(await handle.job()).toMatchObject({ status: 'cancelled', attempts: 0 });
    });

    it('fires the signal of a job whose lease is gone, and settles nothing for it', async () => {
      await using database = await open();
      let reason: unknown = null;
      const long = defineJob('long', {
        run: ({ signal, attempt }) =>
          attempt > 1
            ? 'again'
            : new Promise((_, reject) => {
                signal.addEventListener('abort', () => {
                  reason = signal.reason;
                  reject(signal.reason);
                });
              }),
      });
      await using millrace = clientOf(database.url, [long]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(long, {});
      await waitFor(() => worker.running === 1, { describe: 'the job to run' });
      const storage = await millrace.internals.storage();
      const [lease] = await storage.held(worker.incarnation);
      if (lease === undefined) throw new Error('the worker holds nothing');
      const failure = { id: lease.id, token: lease.token, kind: 'retry', delayMs: 0, errors: '[]' } as const;
      expect(await storage.settle([failure])).toEqual(['done']);
      expect(await handle.result({ timeout: '10s' })).toBe('again');
      expect(reason).toMatchObject({ code: 'lease-lost' });
      expect(worker.counts.of('lease-lost')).toBe(1);
      expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 1 });
    });

    it('finishes what runs when it is stopped, and gives back what has not started', async () => {
      await using database = await open();
      const slow = defineJob('slow', { run: () => new Promise((resolve) => setTimeout(resolve, 300)) });
      await using millrace = clientOf(database.url, [slow]);
      const worker = millrace.worker({ concurrency: 2 });
      await worker.start();
      const handles = await millrace.dispatchMany(
        Array.from({ length: 8 }, () => ({ job: slow, input: {} })),
      );
      await waitFor(() => worker.running === 2, { describe: 'both slots to be busy' });
      await worker.stop();
      const jobs = await Promise.all(handles.map((handle) => handle.job()));
      expect(jobs.filter((job) => job?.status === 'processing')).toEqual([]);
      expect(jobs.filter((job) => job?.status === 'completed').length).toBeGreaterThanOrEqual(2);
      expect(jobs.every((job) => job?.attempts === 0 && job.deaths === 0)).toBe(true);
    });

    it('puts a job back uncharged when it outlasts the stop deadline', async () => {
      await using database = await open();
      let reason: unknown = null;
      const endless = defineJob('endless', {
        run: ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              reason = signal.reason;
              reject(signal.reason);
            });
          }),
      });
      await using millrace = clientOf(database.url, [endless]);
      const worker = millrace.worker({ stopTimeout: '100ms' });
      await worker.start();
      const handle = await millrace.dispatch(endless, {});
      await waitFor(() => worker.running === 1, { describe: 'the job to run' });
      await worker.stop();
      expect(reason).toMatchObject({ code: 'worker-stopping' });
      expect(await handle.job()).toMatchObject({ status: 'pending', attempts: 0, deaths: 0 });
    });
  });

  describe(`[${name}] worker: order and queues`, () => {
    it('drains an earlier queue first, and skips a paused one', async () => {
      await using database = await open();
      const order: string[] = [];
      const note = defineJob('note', { run: ({ job }) => void order.push(job.queue) });
      await using millrace = clientOf(database.url, [note]);
      const lines = ['low', 'default', 'critical', 'held'].flatMap((queue) =>
        Array.from({ length: 5 }, () => ({ job: note, input: {}, options: { queue } })),
      );
      await millrace.dispatchMany(lines);
      await millrace.pause('held');
      await using worker = millrace.worker({
        queues: ['critical', 'held', 'default', 'low'],
        concurrency: 1,
      });
      await worker.start();
      await worker.idle();
      expect(order).toEqual([
        ...Array(5).fill('critical'),
        ...Array(5).fill('default'),
        ...Array(5).fill('low'),
      ]);
      await millrace.resume('held');
      await waitFor(() => order.length === 20, { describe: 'the resumed queue to be drained' });
    });

    it('lets a job of an earlier queue overtake what is buffered of a later one', async () => {
      await using database = await open();
      const order: string[] = [];
      const note = defineJob('note', {
        run: async ({ job }) => {
          order.push(job.queue);
          await new Promise((resolve) => setTimeout(resolve, 5));
        },
      });
      await using millrace = clientOf(database.url, [note]);
      await millrace.dispatchMany(
        Array.from({ length: 200 }, () => ({ job: note, input: {}, options: { queue: 'late' } })),
      );
      await using worker = millrace.worker({ queues: ['early', 'late'], concurrency: 1 });
      await worker.start();
      await waitFor(() => order.length > 40, { describe: 'the buffer to be in use' });
      const before = order.length;
      await millrace.dispatch(note, {}, { queue: 'early' });
      const at = await waitFor(() => order.indexOf('early') + 1, {
        describe: 'the earlier queue to be served',
      });
      // Pushed on some engines, polled on the others: the buffer holds at most 200 ms of work.
      expect(at - before).toBeLessThan(100);
      expect(order.length).toBeLessThan(200);
    });

    it('leaves jobs of names it does not know to others', async () => {
      await using database = await open();
      const known = defineJob('known', { run: () => 1 });
      await using other = clientOf(database.url, []);
      await using millrace = clientOf(database.url === 'memory:' ? database.url : database.url, [known]);
      if (name === 'memory') return;
      const stranger = await other.dispatch('stranger', {});
      const handle = await millrace.dispatch(known, {});
      await using worker = millrace.worker();
      await worker.start();
      expect(await handle.result({ timeout: '10s' })).toBe(1);
      await worker.idle();
      expect(await stranger.job()).toMatchObject({ status: 'pending', attempts: 0 });
    });

    it('starts a delayed job when it falls due', async () => {
      await using database = await open();
      let startedAt = 0;
      const later = defineJob('later', {
        run: () => {
          startedAt = Date.now();
        },
      });
      await using millrace = clientOf(database.url, [later], { workerSleep: '30s' });
      await using worker = millrace.worker();
      await worker.start();
      await worker.idle();
      const dispatchedAt = Date.now();
      const handle = await millrace.dispatch(later, {}, { delay: 400 });
      await handle.result({ timeout: '5s' });
      expect(startedAt - dispatchedAt).toBeGreaterThanOrEqual(390);
      expect(startedAt - dispatchedAt).toBeLessThan(name === 'mysql' ? 5_000 : 1_500);
    });

    it('runs dependents after what they wait for, and dispatches from a handler', async () => {
      await using database = await open();
      const order: string[] = [];
      const step = defineJob('step', {
        run: async ({
          input,
          dispatch,
        }: {
          input: { label: string; more?: boolean };
          dispatch: Parameters<typeof Object>[0];
        }) => {
          order.push(input.label);
          if (input.more === true)
            await (dispatch as (...args: unknown[]) => Promise<unknown>)('step', { label: 'child' });
        },
      });
      await using millrace = clientOf(database.url, [step as unknown as JobDefinition]);
      const first = await millrace.dispatch('step', { label: 'first', more: true }, { delay: 50 });
      const second = await millrace.dispatch('step', { label: 'second' }, { after: first });
      await using worker = millrace.worker();
      await worker.start();
      await second.result({ timeout: '10s' });
      await waitFor(() => order.length === 3, { describe: 'three jobs' });
      expect(order.indexOf('second')).toBeGreaterThan(order.indexOf('first'));
      expect(order).toContain('child');
    });
  });

  describe(`[${name}] worker: logs`, () => {
    it('stores lines and the last progress of a job, in order', async () => {
      await using database = await open();
      const talk = defineJob('talk', {
        run: ({ log, progress }) => {
          log.info('begins', { part: 1 });
          for (let done = 1; done <= 100; done += 1) progress(done, 100);
          log.warn('ends');
        },
      });
      await using millrace = clientOf(database.url, [talk]);
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(talk, {});
      await handle.result({ timeout: '10s' });
      const lines = await millrace.log(handle.id);
      expect(lines.filter(({ kind }) => kind === 'log').map(({ text }) => text)).toEqual([
        'begins {"part":1}',
        'ends',
      ]);
      const progress = lines
        .filter(({ kind }) => kind === 'progress')
        .map(({ text }) => JSON.parse(text).done);
      expect(progress.at(-1)).toBe(100);
      expect(progress.length).toBeLessThan(5);
    });
  });

  describe(`[${name}] worker: what it tells`, () => {
    it('shows its state soon, and its last numbers after it has stopped', async () => {
      await using database = await open();
      const quick = defineJob('quick', { run: () => 1 });
      await using millrace = clientOf(database.url, [quick]);
      const worker = millrace.worker();
      await worker.start();
      await waitFor(async () => (await millrace.workers())[0]?.state === 'RUNNING', {
        describe: 'the registration to say RUNNING',
      });
      const handles = await millrace.dispatchMany([1, 2, 3].map(() => ({ job: quick, input: undefined })));
      for (const handle of handles) await handle.result({ timeout: '10s' });
      await worker.stop();
      expect(await millrace.workers()).toMatchObject([
        { id: worker.id, state: 'EXIT', status: 'offline', running: 0, jobsDone: 3 },
      ]);
    });

    it('logs an attempt that failed and a job that is buried, with the error', async () => {
      await using database = await open();
      const lines: string[] = [];
      const note = (level: string) => (message: string, fields?: object) => {
        lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
      };
      const logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
      const fail = defineJob('fail', {
        attempts: 2,
        backoff: { type: 'fixed', base: 10, jitter: false },
        run: () => Promise.reject(new TypeError('kaputt')),
      });
      await using millrace = clientOf(database.url, [fail], { logger });
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(fail, {});
      await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
      const told = () =>
        lines.filter((line) => line.includes(handle.id) && line.includes('TypeError: kaputt'));
      // The job is final for everybody the moment storage has it; the worker tells of it once it has the answer.
      await waitFor(() => told().length >= 2, { describe: 'the worker to tell of both attempts' });
      expect(told().map((line) => line.split(' ')[0])).toEqual(['warn', 'error']);
      expect(told()[0]).toContain('1 of 2');
      expect(told()[1]).toContain('attempts-exhausted');
    });
  });
}
