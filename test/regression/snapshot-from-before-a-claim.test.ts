import { expect, it } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { MemoryStorage } from '../../src/storage/memory/storage.js';
import type { Storage } from '../../src/storage/storage.js';
import { waitFor } from '../support/wait-for.js';

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/*
 * A look at what the worker holds was taken after a claim was sent and before storage had carried it out, and arrived
 * after the claim's answer. It was read as "these leases are lost": the jobs ran again a lease later.
 */
it('[memory] a look at its leases that is older than the answer of a claim does not take the claimed jobs for lost', async () => {
  const inner = new MemoryStorage();
  const claimMayGo = gate();
  const lookMayArrive = gate();
  const finish = gate();
  let isClaimSent = false;
  let isLookTaken = false;
  const storage = new Proxy<Storage>(inner, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (key === 'claim' && !isClaimSent) {
          isClaimSent = true;
          await claimMayGo.opened;
        }
        const answer: unknown = await Reflect.apply(value, target, args);
        if (key === 'held' && isClaimSent && !isLookTaken) {
          isLookTaken = true;
          await lookMayArrive.opened;
        }
        return answer;
      };
    },
  });
  let runs = 0;
  let isAborted = false;
  const job = defineJob('job', {
    run: async ({ signal }) => {
      runs += 1;
      signal.addEventListener('abort', () => {
        isAborted = true;
      });
      await finish.opened;
      return 'done';
    },
  });
  await using millrace = new Millrace({
    database: storage,
    jobs: [job],
    staleTimeout: '1s',
    heartbeat: '300ms',
  });
  const handle = await millrace.dispatch(job, undefined);
  await using worker = millrace.worker();
  await worker.start();
  await waitFor(() => isLookTaken, { describe: 'a look at the leases while the claim is on its way' });
  claimMayGo.open();
  await waitFor(() => runs === 1, { describe: 'the job to run' });
  lookMayArrive.open();
  await waitFor(async () => (await millrace.workers()).some(({ running }) => running === 1), {
    describe: 'a heartbeat after the late look',
  });
  finish.open();
  expect(await handle.result({ timeout: '10s' })).toBe('done');
  expect([runs, isAborted]).toEqual([1, false]);
});
