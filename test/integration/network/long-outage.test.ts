import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Logger } from '../../../src/internal/logger.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

/** A busy machine must be able to renew within it. */
const leaseMs = 10_000;
const outageMs = 1.5 * leaseMs;
const deadlineMs = 60_000;

for (const engine of ['postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(
    `[${engine}] a database that is away for longer than a lease`,
    () => {
      test('takes nothing from live workers: they reconnect in place and settle what they held', {
        timeout: 120_000,
      }, async () => {
        await using database = await emptyDatabase(engine);
        await using proxy = await tcpProxy(database.address);
        const runs: number[] = [];
        const long = defineJob('long', {
          run: async ({ input }: { input: { n: number } }) => {
            runs.push(input.n);
            const from = performance.now();
            // It ends while the database is still away: its result has to wait.
            await waitFor(() => performance.now() - from > outageMs / 2, {
              describe: 'half of the outage to be over',
              deadlineMs: outageMs,
            });
            return input.n;
          },
        });
        const lines: string[] = [];
        const note = (line: string): void => void lines.push(line);
        const logger: Logger = { debug: () => undefined, info: note, warn: note, error: note };
        await using millrace = new Millrace({
          ...{ database: proxy.url, jobs: [long], logger, migrate: 'auto', workerSleep: '200ms' },
          ...{ staleTimeout: leaseMs, heartbeat: 500, databaseTimeout: '2s' },
        });
        await millrace.open();
        const states: string[] = [];
        millrace.on('worker:state', ({ state }) => states.push(state));
        await using first = millrace.worker({ concurrency: 2 });
        await using second = millrace.worker({ concurrency: 2 });
        await Promise.all([first.start(), second.start()]);
        const incarnations = [first.incarnation, second.incarnation];
        const handles = await Promise.all([0, 1, 2, 3].map((n) => millrace.dispatch(long, { n })));
        await waitFor(() => runs.length === 4, { describe: 'all jobs to run', deadlineMs });

        proxy.freeze();
        proxy.cut('reset');
        const from = performance.now();
        await waitFor(() => performance.now() - from > outageMs, {
          describe: 'the outage to be over',
          deadlineMs,
        });
        proxy.thaw();
        proxy.cut('reset');

        for (const [n, handle] of handles.entries()) {
          expect(await handle.result({ timeout: '60s' })).toBe(n);
          expect(await handle.job()).toMatchObject({ deaths: 0, attempts: 0 });
        }
        expect(runs.sort()).toEqual([0, 1, 2, 3]);
        await waitFor(() => first.lifecycle === 'RUNNING' && second.lifecycle === 'RUNNING', {
          describe: 'both workers to run again',
          deadlineMs,
        });
        expect([first.incarnation, second.incarnation]).toEqual(incarnations);
        expect(states).toContain('RECONNECTING');
        expect(lines.some((line) => /^link: lost \(.+\), reconnecting in \d+\.\d s$/.test(line))).toBe(true);
      });
    },
  );
}
