import { describe, expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';
import { recorded, WorkerProcess, type WorkerProcessOptions } from '../../support/worker-process.js';

export interface ProcessSuiteOptions {
  readonly name: 'sqlite' | 'postgres' | 'mysql';
  /** An empty database, ready to use. */
  readonly open: () => Promise<AsyncDisposable & { readonly url: string }>;
}

/** Long enough that a machine busy with other tests renews in time. */
const leaseMs = 3_000;
const client = {
  staleTimeout: leaseMs,
  heartbeat: 300,
  workerSleep: 200,
  killGrace: 200,
  retryBackoff: 'fixed',
} as const;
const longTest = 90_000;

/** What holds when worker processes freeze, block and die: leases, evidence, deaths, the lone run. */
export function processSuite({ name, open }: ProcessSuiteOptions): void {
  const stage = async () => {
    const database = await open();
    const dir = tempDir('workers');
    const millrace = new Millrace({ database: database.url, migrate: 'auto', ...client });
    await millrace.open();
    const record = dir.file('record');
    const begin = (options: Partial<WorkerProcessOptions> = {}) =>
      new WorkerProcess({ url: database.url, record, client, ...options });
    return {
      millrace,
      /** For one that may die before it could say that it runs. */
      begin,
      start: async (options: Partial<WorkerProcessOptions> = {}) => await begin(options).ready(),
      events: () => recorded(record),
      [Symbol.asyncDispose]: async () => {
        await millrace.close();
        await dir[Symbol.asyncDispose]();
        await database[Symbol.asyncDispose]();
      },
    };
  };

  describe.concurrent(`[${name}] worker processes`, () => {
    it('a handler that blocks the loop for three leases runs once', { timeout: longTest }, async () => {
      await using on = await stage();
      await using first = await on.start();
      await using second = await on.start();
      const handle = await on.millrace.dispatch('act', { block: 3 * leaseMs });
      await handle.result({ timeout: '45s' });
      expect(on.events().filter(({ event }) => event === 'start')).toHaveLength(1);
      expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 0, deaths: 0 });
      expect([first.hasEnded, second.hasEnded]).toEqual([false, false]);
    });

    it('a job many leases long is renewed and runs once', { timeout: longTest }, async () => {
      await using on = await stage();
      await using _first = await on.start();
      await using _second = await on.start();
      const handle = await on.millrace.dispatch('act', { sleep: 4 * leaseMs });
      await handle.result({ timeout: '45s' });
      await waitFor(() => on.events().length >= 3, { describe: 'the worker to tell of it' });
      expect(on.events().map(({ event }) => event)).toEqual(['start', 'end', 'completed']);
    });

    it('the result of a worker that was frozen past its lease is refused', {
      timeout: longTest,
    }, async () => {
      await using on = await stage();
      await using frozen = await on.start({ worker: { duties: false } });
      const handle = await on.millrace.dispatch('act', { sleep: 1_000 });
      await waitFor(() => on.events().length === 1, { describe: 'the job to start' });
      frozen.signal('SIGSTOP');
      await using other = await on.start();
      await handle.result({ timeout: '45s' });
      const before = await handle.job();
      frozen.signal('SIGCONT');
      await waitFor(() => on.events().some(({ event, pid }) => event === 'end' && pid === frozen.pid), {
        describe: 'the frozen handler to end',
      });
      frozen.signal('SIGTERM');
      await frozen.ended();
      const completions = on.events().filter(({ event }) => event === 'completed');
      expect(completions.map(({ pid }) => pid)).toEqual([other.pid]);
      expect(await handle.job()).toEqual(before);
      expect(before).toMatchObject({ status: 'completed', attempts: 0, deaths: 1 });
    });

    it('a job whose worker is killed runs again, uncharged, and its death is counted', {
      timeout: longTest,
    }, async () => {
      await using on = await stage();
      await using killed = await on.start();
      const handle = await on.millrace.dispatch('act', { sleep: 500 });
      await waitFor(() => on.events().length === 1, { describe: 'the job to start' });
      killed.signal('SIGKILL');
      await using _other = await on.start();
      await handle.result({ timeout: '40s' });
      expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 0, deaths: 1 });
    });

    it('a job that kills every worker is buried as poison after it died alone, its neighbours never', {
      timeout: 120_000,
    }, async () => {
      await using on = await stage();
      const poison = await on.millrace.dispatch('act', { die: true });
      let worker = on.begin();
      const revive = (): void => {
        if (worker.hasEnded) worker = on.begin();
      };
      const neighbours = await on.millrace.dispatchMany(
        Array.from({ length: 5 }, () => ({ job: 'act', input: { sleep: 50 } })),
      );
      const buried = await waitFor(
        async () => {
          revive();
          const job = await poison.job();
          return job?.status === 'buried' ? job : null;
        },
        { describe: 'the poison job to be buried', deadlineMs: 100_000 },
      );
      expect(buried).toMatchObject({ attempts: 0, reason: 'poison' });
      expect(buried.deaths).toBe(3);
      expect(buried.failures.at(0)?.kind).toBe('died');
      revive();
      for (const neighbour of neighbours) await neighbour.result({ timeout: '45s' });
      await worker[Symbol.asyncDispose]();
    });

    it('TERM lets what runs end, and the process ends with 0', { timeout: longTest }, async () => {
      await using on = await stage();
      await using worker = await on.start();
      const handle = await on.millrace.dispatch('act', { sleep: 700 });
      await waitFor(() => on.events().length === 1, { describe: 'the job to start' });
      worker.signal('SIGTERM');
      await worker.ended();
      expect(worker.exitCode).toBe(0);
      expect(await handle.job()).toMatchObject({ status: 'completed' });
      const [listing] = await on.millrace.workers();
      expect(listing?.status).toBe('offline');
    });
  });
}
