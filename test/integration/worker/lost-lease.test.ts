import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { silentLogger } from '../../../src/internal/logger.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

const hour = 3_600_000;

for (const engine of ['memory', 'sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] leases that others took away for later`, () => {
    test('of running jobs fire their signals soon, and what the handlers return is refused', async () => {
      await using database = await emptyDatabase(engine);
      const reasons: unknown[] = [];
      const long = defineJob('long', {
        run: ({ signal }: JobContext<unknown>) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              resolve('late');
            });
          }),
      });
      await using millrace = new Millrace({
        database: database.address,
        jobs: [long],
        migrate: 'auto',
        killGrace: '5s',
      });
      await using worker = millrace.worker({ stopTimeout: '100ms' });
      await worker.start();
      const handle = await millrace.dispatch(long, {});
      await waitFor(() => worker.running === 1, { describe: 'the job to run' });
      const storage = await millrace.internals.storage();
      const [lease] = await storage.held(worker.incarnation);
      const takenAt = performance.now();
      // Not due for an hour, so no claim of this worker tells of it: only its look at what it holds can.
      expect(
        await storage.settle([
          {
            id: lease?.id ?? '',
            token: lease?.token ?? '',
            kind: 'put-back',
            delayMs: hour,
            reason: 'taken',
          },
        ]),
      ).toEqual(['done']);
      await waitFor(() => reasons.length === 1, { describe: 'the signal to fire' });
      expect(performance.now() - takenAt).toBeLessThan(5_000);
      expect(reasons).toMatchObject([{ code: 'lease-lost' }]);
      await waitFor(() => worker.counts.of('lease-lost') === 1, { describe: 'the result to be dropped' });
      expect(await storage.job(handle.id)).toMatchObject({ status: 'pending', attempts: 0, reason: 'taken' });
    });

    test('of jobs in the buffer keep these from being started', async () => {
      await using database = await emptyDatabase(engine);
      const started: number[] = [];
      const given: string[] = [];
      const warn = (message: string): void => {
        if (message === 'a buffered job was taken from this worker') given.push(message);
      };
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const slow = defineJob('slow', {
        run: async ({ input }: JobContext<number>) => {
          started.push(input);
          if (input === 20) await gate;
        },
      });
      await using millrace = new Millrace({
        database: database.address,
        jobs: [slow],
        migrate: 'auto',
        logger: { ...silentLogger, warn },
      });
      await using worker = millrace.worker({ concurrency: 1 });
      await worker.start();
      await millrace.dispatchMany(Array.from({ length: 40 }, (_, n) => ({ job: slow, input: n })));
      await waitFor(() => started.includes(20), { describe: 'the slow one to begin' });
      const storage = await millrace.internals.storage();
      const inputs = new Map<string, number>();
      // Not those that have ended and whose results are on their way; the next claim may be on its way too.
      const buffered = await waitFor(
        async () => {
          const held = await storage.held(worker.incarnation);
          for (const { id } of held) inputs.set(id, Number((await storage.job(id))?.payload));
          const unstarted = held.filter(({ id }) => !started.includes(inputs.get(id) ?? -1));
          return unstarted.length > 0 && unstarted;
        },
        { describe: 'jobs in the buffer' },
      );
      const outcomes = await storage.settle(
        buffered.map(({ id, token }) => ({ id, token, kind: 'put-back', delayMs: hour, reason: 'taken' })),
      );
      expect(new Set(outcomes)).toEqual(new Set(['done']));
      await waitFor(() => given.length === buffered.length, { describe: 'the worker to notice' });
      release();
      await waitFor(() => worker.running === 0, { describe: 'the slow one to end' });
      const taken = new Set(buffered.map(({ id }) => inputs.get(id)));
      await worker.idle();
      expect(started.filter((n) => taken.has(n))).toEqual([]);
      expect(started).toHaveLength(40 - taken.size);
    });
  });
}
