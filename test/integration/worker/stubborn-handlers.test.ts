import { expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

const never = (): Promise<never> => new Promise(() => undefined);

test('[memory] a handler whose promise never settles keeps no worker from stopping, and its job is put back uncharged', async () => {
  await using engine = await openEngine('memory');
  const endless = defineJob('endless', { run: never });
  const millrace = new Millrace({ database: engine.storage, jobs: [endless], killGrace: '50ms' });
  const worker = millrace.worker({ concurrency: 2 });
  await worker.start();
  const handles = [await millrace.dispatch(endless, {}), await millrace.dispatch(endless, {})];
  await waitFor(() => worker.running === 2, { describe: 'both to run' });
  const startedAt = performance.now();
  await worker.stop({ deadlineMs: 100 });
  await millrace.close();
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  for (const { id } of handles) {
    expect(await engine.storage.job(id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      deaths: 0,
      reason: 'worker-stopping',
    });
  }
  expect(await engine.storage.held(worker.incarnation)).toEqual([]);
});

test('[memory] handlers that swallow their signal cost their slots, never the worker: others run beside them', async () => {
  await using engine = await openEngine('memory');
  const deaf = defineJob('deaf', { attempts: 1, timeout: '100ms', run: never });
  const well = defineJob('well', { run: () => 'well' });
  await using millrace = new Millrace({ database: engine.storage, jobs: [deaf, well], killGrace: '50ms' });
  await using worker = millrace.worker({ concurrency: 4, stopTimeout: '100ms' });
  await worker.start();
  const stuck = await Promise.all([1, 2, 3].map(() => millrace.dispatch(deaf, {})));
  for (const handle of stuck) {
    await expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({ code: 'job-failed' });
    expect((await handle.job())?.failures[0]).toMatchObject({ kind: 'timed-out' });
  }
  expect(worker.running).toBe(3);
  const handles = await millrace.dispatchMany(Array.from({ length: 20 }, () => ({ job: well, input: {} })));
  for (const handle of handles) expect(await handle.result({ timeout: '10s' })).toBe('well');
});

test('[memory] a handler that turns its abort into a value within the grace has done its work', async () => {
  await using engine = await openEngine('memory');
  const tidy = defineJob('tidy', {
    attempts: 1,
    timeout: '100ms',
    run: ({ signal }: JobContext<unknown>) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('what was done so far'))),
  });
  await using millrace = new Millrace({ database: engine.storage, jobs: [tidy], killGrace: '5s' });
  await using worker = millrace.worker();
  await worker.start();
  const handle = await millrace.dispatch(tidy, {});
  expect(await handle.result({ timeout: '10s' })).toBe('what was done so far');
});

test('[memory] jobs that wait in the buffer go back untouched when their queue is paused, and run when it goes on', async () => {
  await using engine = await openEngine('memory');
  const started: number[] = [];
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = defineJob('slow', {
    run: async ({ input }: JobContext<number>) => {
      started.push(input);
      if (input >= 20) await gate;
    },
  });
  await using millrace = new Millrace({ database: engine.storage, jobs: [slow], killGrace: '50ms' });
  await using worker = millrace.worker({ concurrency: 1, stopTimeout: '100ms' });
  await worker.start();
  // The first ones are quick, so that the buffer becomes deep; at the twentieth everything stands still.
  const handles = await millrace.dispatchMany(
    Array.from({ length: 60 }, (_, n) => ({ job: slow, input: n })),
  );
  await waitFor(() => started.includes(20), { describe: 'the slow ones to begin' });
  await waitFor(async () => (await engine.storage.held(worker.incarnation)).length > 1, {
    describe: 'jobs to wait in the buffer',
  });
  await millrace.pause('default');
  await waitFor(async () => (await engine.storage.held(worker.incarnation)).length === 1, {
    describe: 'the buffer to be given back',
  });
  release();
  await waitFor(() => worker.running === 0, { describe: 'the running one to end' });
  expect(started).toHaveLength(21);
  expect(await millrace.stats('default')).toMatchObject({ pending: 39, processing: 0, completed: 21 });
  await millrace.resume('default');
  await Promise.all(handles.map((handle) => handle.result({ timeout: '10s' })));
  expect(started).toHaveLength(60);
  for (const { id } of handles) {
    expect(await engine.storage.job(id)).toMatchObject({ attempts: 0, deaths: 0, lapses: 0 });
  }
});
