import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { MillraceError } from '../../../src/internal/errors.js';
import { openEngine } from '../../support/engines.js';
import { type Fault, faultyStorage } from '../../support/faulty-storage.js';

const watchMs = 400;
/** A loop that spins asks several times a millisecond; the rounds of a well-behaved worker are a few dozen in all. */
const mostCallsPerMs = 0.3;

const hands: Record<string, { fault: Fault | null; error?: () => Error }> = {
  'nothing is due': { fault: null },
  'storage is away': { fault: 'before' },
  'storage refuses for good': {
    fault: 'before',
    error: () => new MillraceError('query-failed', 'refused by a test'),
  },
};

for (const [what, { fault, error }] of Object.entries(hands)) {
  test(`[memory] a worker does not spin while ${what}`, async () => {
    await using engine = await openEngine('memory');
    const faulty = faultyStorage(engine.storage);
    const work = defineJob('work', { run: () => 1 });
    await using millrace = new Millrace({ database: faulty.storage, jobs: [work], workerSleep: '100ms' });
    await using worker = millrace.worker();
    await worker.start();
    await worker.idle();
    // A job in a queue of its own wakes every worker again and again, and is for none.
    const waker = setInterval(
      () => void millrace.dispatch(work, {}, { queue: 'nobody' }).catch(() => undefined),
      20,
    );
    if (fault !== null) {
      for (const method of ['claim', 'exchange', 'settle', 'peek', 'held', 'renew', 'heartbeat'] as const) {
        faulty.fail(method, Array<Fault>(2_000).fill(fault), error);
      }
    }
    const before = faulty.calls.length;
    const since = performance.now();
    await pause(watchMs);
    const watchedMs = performance.now() - since;
    clearInterval(waker);
    const asked = faulty.calls.slice(before).filter(({ method }) => method !== 'enqueue');
    expect(asked.length / watchedMs).toBeLessThan(mostCallsPerMs);
  });
}
