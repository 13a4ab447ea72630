import { expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { waitFor } from '../support/wait-for.js';

/** Node's timers fire at once beyond 2^31 ms: a drain "as long as it takes" aborted everything instead. */
for (const [what, stop] of [
  ['30 days', { deadlineMs: 30 * 86_400_000 }],
  ['no end', { deadlineMs: Number.POSITIVE_INFINITY }],
  ['its option of 30 days', undefined],
] as const) {
  test(`[memory] a stop with a deadline of ${what} lets what runs end`, async () => {
    let release = (): void => undefined;
    const slow = defineJob('slow', {
      run: ({ signal }) =>
        new Promise((resolve, reject) => {
          release = () => resolve('whole');
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    });
    await using millrace = new Millrace({ database: 'memory:', jobs: [slow] });
    const worker = millrace.worker({ stopTimeout: '30d' });
    await worker.start();
    const handle = await millrace.dispatch(slow, {});
    await waitFor(() => worker.running === 1, { describe: 'the job to run' });
    const stopped = worker.stop(stop);
    await waitFor(() => worker.lifecycle === 'DRAINING', { describe: 'the worker to drain' });
    // Two turns of the timers: an overflowing one fires within the first.
    await new Promise((resolve) => setTimeout(resolve, 20));
    release();
    await stopped;
    expect(await handle.job()).toMatchObject({ status: 'completed', result: 'whole' });
  });
}
