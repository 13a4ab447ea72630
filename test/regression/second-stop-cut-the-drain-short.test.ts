import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineJob, type JobContext, Millrace } from '../../src/index.js';
import { waitFor } from '../support/wait-for.js';

// Closing a client stops its workers once more; that aborted what was still allowed to end.
test('[memory] a further stop with the same deadline leaves running jobs their time', async () => {
  const job = defineJob('short', {
    async run({ signal }: JobContext<undefined>) {
      await pause(150, undefined, { signal });
      return 'ended by itself';
    },
  });
  await using client = new Millrace({ database: 'memory:', jobs: [job] });
  const worker = client.worker({ stopTimeout: '10s' });
  await worker.start();
  const handle = await client.dispatch(job);
  await waitFor(() => worker.running === 1, { describe: 'the job to run' });
  const stopped = worker.stop();
  await waitFor(() => worker.lifecycle === 'DRAINING', { describe: 'the worker to drain' });
  await Promise.all([stopped, worker.stop(), worker.stop({ deadlineMs: 60_000 })]);
  expect(worker.counts.of('completed')).toBe(1);
  expect(await handle.job()).toMatchObject({ status: 'completed', result: 'ended by itself' });
});

test('[memory] a further stop with a nearer deadline ends the wait', async () => {
  const job = defineJob('long', {
    run: ({ signal }: JobContext<undefined>) => pause(60_000, undefined, { signal }),
  });
  await using client = new Millrace({ database: 'memory:', jobs: [job] });
  const worker = client.worker({ stopTimeout: '1h' });
  await worker.start();
  const handle = await client.dispatch(job);
  await waitFor(() => worker.running === 1, { describe: 'the job to run' });
  const stopped = worker.stop();
  await waitFor(() => worker.lifecycle === 'DRAINING', { describe: 'the worker to drain' });
  await Promise.all([stopped, worker.stop({ deadlineMs: 0 })]);
  expect(await handle.job()).toMatchObject({ status: 'pending', attempts: 0 });
});
