import { cpSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import type { Worker } from '../../../src/worker/worker.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

/** What operators do to workers, and what becomes of it. */
export function operatorsSuite(name: Engine, open: typeof emptyDatabase = emptyDatabase): void {
  const deadlineMs = 30_000;
  const stage = async (options: Record<string, unknown> = {}) => {
    const database = await open(name);
    const gate = { open: () => undefined as unknown, starts: 0 };
    const quick = defineJob('quick', { run: () => 1 });
    const held = defineJob('held', {
      run: async () => {
        gate.starts += 1;
        await new Promise<void>((resolve) => {
          gate.open = resolve;
        });
      },
    });
    const jobs: readonly JobDefinition[] = [quick, held];
    const millrace = new Millrace({
      ...{
        database: database.address,
        jobs,
        migrate: 'auto',
        workerSleep: '200ms',
        killGrace: '100ms',
        heartbeat: '1s',
      },
      ...options,
    });
    await millrace.open();
    return {
      millrace,
      gate,
      listed: async (worker: Worker) => (await millrace.workers()).find(({ id }) => id === worker.id),
      [Symbol.asyncDispose]: async () => {
        gate.open();
        await millrace.close();
        await database[Symbol.asyncDispose]();
      },
    };
  };

  const becomes = (worker: Worker, state: Worker['lifecycle']) =>
    waitFor(() => worker.lifecycle === state, { describe: `the worker to be ${state}`, deadlineMs });

  describe.skipIf(!engineAvailable(name))(`[${name}] operators of workers`, { timeout: 60_000 }, () => {
    it('a drained worker lets what runs end, takes nothing, and goes on once it is activated', async () => {
      await using here = await stage();
      await using worker = here.millrace.worker();
      await worker.start();
      const running = await here.millrace.dispatch('held');
      await waitFor(() => here.gate.starts === 1, { describe: 'the job to run', deadlineMs });
      expect(await here.millrace.drainWorker(worker.id, { actor: 'ada' })).toBe('done');
      await becomes(worker, 'DRAINING');
      const waiting = await here.millrace.dispatch('quick');
      here.gate.open();
      await running.result({ timeout: '30s' });
      // One that took jobs would have taken this one in the time that the other needs to be told.
      const listed = await waitFor(
        async () => {
          const found = await here.listed(worker);
          return found?.state === 'DRAINING' && found.jobsDone === 1 ? found : null;
        },
        { describe: 'the drain to be told', deadlineMs: 40_000 },
      );
      expect(listed).toMatchObject({
        status: 'drain',
        alive: true,
        routable: false,
        drain: { reason: 'operator-drain' },
      });
      expect((await waiting.job())?.status).toBe('pending');
      expect(await here.millrace.activateWorker(worker.id)).toBe('done');
      expect(await waiting.result({ timeout: '30s' })).toBe(1);
      expect(worker.lifecycle).toBe('RUNNING');
      const { entries } = await here.millrace.audit();
      expect(entries.map(({ actor, action, result }) => [actor === 'ada', action, result])).toEqual([
        [false, 'worker.activate', 'done'],
        [true, 'worker.drain', 'done'],
      ]);
    });

    it('a drain outlives the restart of its worker, and a stop ends a drained one', async () => {
      await using here = await stage();
      await using worker = here.millrace.worker();
      await worker.start();
      await here.millrace.drainWorker(worker.id);
      await becomes(worker, 'DRAINING');
      await worker.stop();
      expect(worker.lifecycle).toBe('EXIT');
      const job = await here.millrace.dispatch('quick');
      await worker.start();
      expect(worker.lifecycle).toBe('DRAINING');
      expect((await job.job())?.status).toBe('pending');
      await here.millrace.activateWorker(worker.id);
      expect(await job.result({ timeout: '30s' })).toBe(1);
    });

    it('a worker on standby takes only what nobody else has taken', async () => {
      await using here = await stage();
      await using standby = here.millrace.worker();
      await using active = here.millrace.worker({ concurrency: 1 });
      await standby.start();
      await here.millrace.standbyWorker(standby.id);
      await waitFor(async () => (await here.listed(standby))?.adminState === 'standby', {
        describe: 'the standby to be listed',
      });
      const alone = await here.millrace.dispatch('quick');
      expect(await alone.result({ timeout: '30s' })).toBe(1);
      await active.start();
      await here.millrace.dispatch('held');
      await waitFor(() => active.running + standby.running === 1, { describe: 'the job to run', deadlineMs });
      // Where the active one was slow, the standby has it, and nothing is shown.
      if (active.running === 0) {
        here.gate.open();
        return;
      }
      const second = await here.millrace.dispatch('quick');
      expect(await second.result({ timeout: '30s' })).toBe(1);
      expect((await second.job())?.workerId).toBe(standby.id);
      here.gate.open();
    });

    it('a recycled worker inside a program starts anew in place, and nothing is lost', async () => {
      await using here = await stage();
      await using worker = here.millrace.worker({ recycleAfterJobs: 20, concurrency: 4 });
      await worker.start();
      const first = worker.incarnation;
      const handles = await here.millrace.dispatchMany(
        Array.from({ length: 60 }, () => ({ job: 'quick', input: {} })),
      );
      for (const handle of handles) expect(await handle.result({ timeout: '30s' })).toBe(1);
      await waitFor(() => worker.incarnation !== first && worker.lifecycle === 'RUNNING', {
        describe: 'the worker to have started anew',
        deadlineMs,
      });
      const jobs = await Promise.all(handles.map((handle) => handle.job()));
      expect(jobs.every((job) => job?.status === 'completed' && job.deaths === 0)).toBe(true);
      const second = worker.incarnation;
      expect(await here.millrace.recycleWorker(worker.id)).toBe('done');
      await waitFor(() => worker.incarnation !== second && worker.lifecycle === 'RUNNING', {
        describe: 'the worker to have started anew once more',
        deadlineMs,
      });
      // The wish was of the incarnation before.
      await waitFor(async () => (await here.listed(worker))?.recycleAsked === false, {
        describe: 'the wish to be over',
      });
    });

    it('a worker says why it gets no work', async () => {
      await using here = await stage();
      await using worker = here.millrace.worker({ concurrency: 1 });
      await worker.start();
      const reasons = async (): Promise<string> =>
        ((await here.millrace.whyWorker(worker.id))?.reasons ?? []).map(({ code }) => code).join(' ');
      const says = (codes: string) =>
        waitFor(async () => (await reasons()) === codes, { describe: `it to say ${codes}`, deadlineMs });
      await says('nothing-due');
      const storage = await here.millrace.internals.storage();
      await here.millrace.dispatch('held');
      await waitFor(() => here.gate.starts === 1, { describe: 'the job to run', deadlineMs });
      await here.millrace.dispatch('quick');
      await says('slots-full');
      await here.millrace.drainWorker(worker.id);
      await becomes(worker, 'DRAINING');
      here.gate.open();
      await says('drained-by-operator');
      expect((await storage.stats('default'))[0]?.claimable).toBe(1);
      await here.millrace.pause('default');
      await says('drained-by-operator queues-paused nothing-due');
      await worker.stop();
      await says('said-goodbye');
      expect(await here.millrace.whyWorker('w-nobody')).toBeNull();
    });

    it('a live worker is not forgotten, one that has stopped is', async () => {
      await using here = await stage();
      const worker = here.millrace.worker();
      await worker.start();
      expect(await here.millrace.forgetWorker(worker.id)).toBe('alive');
      await worker.stop();
      expect(await here.millrace.forgetWorker(worker.id)).toBe('done');
      expect(await here.listed(worker)).toBeUndefined();
      expect(await here.millrace.drainWorker(worker.id)).toBe('not-found');
      await expect(here.millrace.drainWorker('')).rejects.toMatchObject({ code: 'option-invalid' });
    });

    it.skipIf(name === 'memory')('keeps its id in a state folder, and counts its restarts', async () => {
      await using here = await stage();
      await using dir = tempDir('state');
      const worker = here.millrace.worker({ stateDir: dir.path });
      await worker.start();
      expect(worker.id).toMatch(/^w-[0-9a-f]{8}-1$/);
      const { id } = worker;
      await worker.stop();
      await using other = here.millrace.worker({ stateDir: dir.path });
      await other.start();
      expect(other.id).toBe(id);
      expect(await here.listed(other)).toMatchObject({ restarts: 1, alive: true });
      await using beside = here.millrace.worker({ stateDir: dir.path });
      await beside.start();
      expect(beside.id).toBe(id.replace(/1$/, '2'));
    });

    it.skipIf(name === 'memory')('goes on under an id of its own when its folder was copied', async () => {
      await using here = await stage();
      await using dir = tempDir('state');
      const worker = here.millrace.worker({ stateDir: dir.path });
      await worker.start();
      const { id } = worker;
      await worker.stop();
      await using copy = tempDir('state');
      cpSync(dir.path, copy.path, { recursive: true });
      await using original = here.millrace.worker({ stateDir: dir.path });
      await using clone = here.millrace.worker({ stateDir: copy.path });
      await original.start();
      await clone.start();
      expect(original.id).toBe(id);
      expect(clone.id).not.toBe(id);
      const live = (await here.millrace.workers()).filter(({ alive }) => alive).map((one) => one.id);
      expect(live.sort()).toEqual([original.id, clone.id].sort());
    });
  });
}
