import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defineJob, Millrace } from '../../src/index.js';
import { withDeadline } from '../../src/internal/deadline.js';

// What a worker does each second would tell them too, only later.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval'] }));
afterEach(() => void vi.useRealTimers());

// A retry wakes its own worker, whose next look finds nothing: nobody told those that wait for that.
test('[memory] a worker whose last job will be retried later is idle at once, not with its next poll', async () => {
  const job = defineJob('fails', {
    backoff: { type: 'fixed', base: '1h' },
    run() {
      throw new Error('not now');
    },
  });
  await using client = new Millrace({ database: 'memory:', jobs: [job], workerSleep: '1h' });
  await client.dispatch(job);
  const worker = client.worker();
  await worker.start();
  await withDeadline(worker.idle(), { ms: 5000, name: 'the worker to be idle' });
  expect(worker.counts.of('retry')).toBe(1);
});
