import { afterEach, describe, expect, test, vi } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { engineAvailable, openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

const hour = 3_600_000;

afterEach(() => {
  vi.useRealTimers();
});

/** Memory is left out: the clock of its database is that of its process. */
for (const engine of ['sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] a machine whose clock is off by an hour`, () => {
    test.each([
      ['behind', -hour],
      ['ahead', hour],
    ])(
      '%s dispatches, leases, renews, delays and writes down by the time of the database',
      async (_, offsetMs) => {
        // Handed over as an object, so that all of it runs in this thread: only here the clock is wrong.
        await using database = await openEngine(engine);
        const { storage } = database;
        const trueNow = Date.now();
        vi.useFakeTimers({ toFake: ['Date'], now: trueNow + offsetMs, shouldAdvanceTime: true });
        let release = (): void => undefined;
        const hold = defineJob('hold', {
          run: () =>
            new Promise<void>((resolve) => {
              release = resolve;
            }),
        });
        const fail = defineJob('fail', { attempts: 1, run: () => Promise.reject(new Error('as asked')) });
        const later = defineJob('later', { run: () => 1 });
        await using millrace = new Millrace({
          database: storage,
          jobs: [hold, fail, later],
          heartbeat: '200ms',
          workerSleep: '100ms',
          killGrace: '50ms',
        });
        await using worker = millrace.worker({ stopTimeout: '100ms' });
        await worker.start();
        expect(Math.abs((await storage.now()) - trueNow)).toBeLessThan(60_000);

        const held = await millrace.dispatch(hold, undefined);
        await waitFor(() => worker.running === 1, { describe: 'a job without delay to run at once' });
        const record = await storage.job(held.id);
        expect(Math.abs((record?.createdAtMs ?? 0) - trueNow)).toBeLessThan(60_000);
        expect(Math.abs((record?.leaseUntilMs ?? 0) - trueNow - 45_000)).toBeLessThan(30_000);
        expect(await storage.expired({ expiredForMs: 0, limit: 10 })).toEqual([]);

        const failed = await millrace.dispatch(fail, undefined);
        await expect(failed.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
        // The worker learns how far off its machine is with its first heartbeats.
        await waitFor(
          async () => {
            const handle = await millrace.dispatch(fail, undefined);
            await handle.result({ timeout: '10s' }).catch(() => undefined);
            return Math.abs(((await handle.job())?.failures[0]?.at.getTime() ?? 0) - trueNow) < 60_000;
          },
          { describe: 'failures to be written down by the time of the database' },
        );

        const soon = await millrace.dispatch(later, undefined, { delay: 300 });
        expect(await soon.result({ timeout: '10s' })).toBe(1);
        const [seen] = await millrace.workers();
        expect(seen?.status).not.toBe('offline');
        expect(await millrace.recover()).toMatchObject({ retried: {}, buried: {}, ended: 0 });
        release();
        await held.result({ timeout: '10s' });
        expect(await held.job()).toMatchObject({ status: 'completed', deaths: 0, attempts: 0 });
      },
    );
  });
}
