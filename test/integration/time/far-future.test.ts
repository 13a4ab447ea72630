import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { RetryAfter } from '../../../src/client/outcomes.js';
import { engineAvailable, openEngine } from '../../support/engines.js';
import { faultyStorage } from '../../support/faulty-storage.js';
import { waitFor } from '../../support/wait-for.js';

const day = 86_400_000;
/** Node's timers hold 24.8 days; integers of 32 bits as many ms; 100 years is the longest duration that is taken. */
const far = [25 * day, 50 * day, 36_500 * day];

/** Real time that passes in between, and the two clocks of client and server. */
const slackMs = 120_000;

for (const engine of ['memory', 'sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] times beyond 24.8 days`, () => {
    test('of delays, snoozes, retries, retention, periods and timeouts are what was said, and nothing spins on them', async () => {
      await using database = await openEngine(engine);
      const counted = faultyStorage(database.storage);
      const ran: string[] = [];
      const kept: { handle: { job(): Promise<{ status: string } | null> }; ms: number }[] = [];
      const jobs = far.flatMap((ms, n) => [
        defineJob(`later-${n}`, { run: () => void ran.push(`later-${n}`) }),
        defineJob(`snooze-${n}`, { run: (context: JobContext<undefined>) => context.snooze(ms) }),
        defineJob(`retry-${n}`, {
          run: () => {
            throw new RetryAfter(ms);
          },
        }),
        defineJob(`backoff-${n}`, {
          backoff: { type: 'fixed', base: ms },
          run: () => {
            throw new Error('try much later');
          },
        }),
        defineJob(`patient-${n}`, {
          timeout: ms,
          retention: ms,
          run: ({ signal }: JobContext<undefined>) => (signal.aborted ? 'aborted' : 'whole'),
        }),
      ]);
      await using millrace = new Millrace({
        database: counted.storage,
        jobs,
        dispatchTimeout: '60d',
        workerSleep: '1h',
        stopTimeout: '1d',
      });
      await using worker = millrace.worker({ stopTimeout: '60d' });
      await worker.start();
      const dispatchedAt = Date.now();
      for (const [n, ms] of far.entries()) {
        const later = await millrace.dispatch(`later-${n}`, undefined, { delay: ms, unique: { period: ms } });
        const again = await millrace.dispatch(`later-${n}`, undefined, { delay: ms, unique: { period: ms } });
        expect(again.id).toBe(later.id);
        const others = await Promise.all(
          ['snooze', 'retry', 'backoff'].map((name) => millrace.dispatch(`${name}-${n}`)),
        );
        for (const handle of [later, ...others]) {
          const job = await waitFor(
            async () => {
              const found = await handle.job();
              return found !== null && Math.abs(found.dueAt.getTime() - dispatchedAt - ms) < slackMs && found;
            },
            { describe: `job ${handle.id} to be due in ${ms / day} days` },
          );
          expect(job.status).toBe('pending');
        }
        const patient = await millrace.dispatch(`patient-${n}`);
        expect(await patient.result({ timeout: '60d' })).toBe('whole');
        kept.push({ handle: patient, ms });
      }
      await worker.idle();
      expect(ran).toEqual([]);
      const before = counted.calls.length;
      // An overflown timer fires every millisecond; polling that has just begun asks some ten times.
      await new Promise((resolve) => setTimeout(resolve, 250));
      const since = counted.calls
        .slice(before)
        .filter(({ method }) => method === 'claim' || method === 'peek');
      expect(since.length).toBeLessThan(40);
      await worker.stop();
      for (const { handle, ms } of kept) {
        const purge = () => database.storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 100 });
        database.clock.advance(ms - day);
        await purge();
        expect((await handle.job())?.status).toBe('completed');
        database.clock.advance(2 * day);
        await purge();
        expect(await handle.job()).toBeNull();
        database.clock.advance(-ms - day);
      }
    }, 40_000);
  });
}
