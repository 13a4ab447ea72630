import { cpSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';
import { recorded, WorkerProcess } from '../../support/worker-process.js';

/** A lease that no test waits for: what comes back before it ended came back by proof. */
const client = { staleTimeout: '10m', heartbeat: '1s', workerSleep: 200, retryBackoff: 'fixed' } as const;
const deadlineMs = 60_000;

/** Who a worker process is after it was killed, frozen or copied, and what becomes of what it held. */
export function identitySuite(name: 'sqlite' | 'postgres' | 'mysql'): void {
  const stage = async () => {
    const database = await emptyDatabase(name);
    const dir = tempDir('identity');
    const millrace = new Millrace({ database: database.address, migrate: 'auto', ...client });
    await millrace.open();
    const record = dir.file('record');
    return {
      millrace,
      dir,
      events: () => recorded(record),
      start: (stateDir: string) =>
        new WorkerProcess({
          ...{ url: database.address, record, client },
          worker: { stateDir, concurrency: 1 },
        }).ready(),
      workers: async () => (await millrace.workers()).filter(({ alive }) => alive),
      [Symbol.asyncDispose]: async () => {
        await millrace.close();
        await dir[Symbol.asyncDispose]();
        await database[Symbol.asyncDispose]();
      },
    };
  };

  describe.skipIf(!engineAvailable(name))(`[${name}] identity of workers`, { timeout: 120_000 }, () => {
    it('a killed worker has its id and its jobs back at its next start, long before the lease ends', async () => {
      await using here = await stage();
      await using first = await here.start(here.dir.file('state'));
      const job = await here.millrace.dispatch('act', { sleep: 600_000 });
      const waiting = await here.millrace.dispatch('act', {});
      await waitFor(() => here.events().some(({ event }) => event === 'start'), {
        describe: 'the job to run',
        deadlineMs,
      });
      const [before] = await here.workers();
      first.signal('SIGKILL');
      await first.ended();
      await using _second = await here.start(here.dir.file('state'));
      // The job that had started counts a death and is due again; the other one runs meanwhile.
      await waitFor(async () => (await job.job())?.deaths === 1, {
        describe: 'the death to be counted',
        deadlineMs,
      });
      expect(await waiting.result({ timeout: '60s' })).toMatchObject({ pid: _second.pid });
      expect(await waiting.job()).toMatchObject({ deaths: 0, attempts: 0 });
      const [after] = await here.workers();
      expect(after).toMatchObject({ id: before?.id, restarts: 1, pid: _second.pid });
      expect(after?.incarnation).not.toBe(before?.incarnation);
    });

    it('a frozen worker keeps its id and its jobs; a newcomer gets the next slot at once', async () => {
      await using here = await stage();
      await using frozen = await here.start(here.dir.file('state'));
      const job = await here.millrace.dispatch('act', { sleep: 3_000 });
      await waitFor(() => here.events().some(({ event }) => event === 'start'), {
        describe: 'the job to run',
        deadlineMs,
      });
      frozen.signal('SIGSTOP');
      await using newcomer = await here.start(here.dir.file('state'));
      const other = await here.millrace.dispatch('act', {});
      expect(await other.result({ timeout: '60s' })).toMatchObject({ pid: newcomer.pid });
      frozen.signal('SIGCONT');
      expect(await job.result({ timeout: '60s' })).toMatchObject({ pid: frozen.pid });
      expect((await job.job())?.deaths).toBe(0);
      const ids = (await here.millrace.workers()).map(({ id }) => id.replace(/^w-[0-9a-f]{8}-/, ''));
      expect(ids.sort()).toEqual(['1', '2']);
    });

    it('a copy of a state folder that is in use takes nothing from the original', async () => {
      await using here = await stage();
      await using original = await here.start(here.dir.file('state'));
      const job = await here.millrace.dispatch('act', { sleep: 3_000 });
      await waitFor(() => here.events().some(({ event }) => event === 'start'), {
        describe: 'the job to run',
        deadlineMs,
      });
      cpSync(here.dir.file('state'), here.dir.file('copy'), { recursive: true });
      // As a copy looks on another machine, where its lock says nothing: here it would name a living process.
      rmSync(here.dir.file('copy', 'slot-1.lock'));
      await using clone = await here.start(here.dir.file('copy'));
      const other = await here.millrace.dispatch('act', {});
      expect(await other.result({ timeout: '60s' })).toMatchObject({ pid: clone.pid });
      expect(await job.result({ timeout: '60s' })).toMatchObject({ pid: original.pid });
      expect((await job.job())?.deaths).toBe(0);
      const live = await here.workers();
      expect(new Set(live.map(({ id }) => id)).size).toBe(2);
      expect(live.map(({ pid }) => pid).sort()).toEqual([original.pid, clone.pid].sort());
    });
  });
}
