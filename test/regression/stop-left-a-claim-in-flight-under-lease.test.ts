import { expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { openEngine } from '../support/engines.js';
import { faultyStorage } from '../support/faulty-storage.js';
import { waitFor } from '../support/wait-for.js';

/**
 * What a claim brought whose answer came while its worker stopped was to be given back, but nothing was sent any more: the
 * jobs waited for their lease to lapse, and then counted as a death.
 */
for (const [what, faults] of [
  ['comes late', [{ delayMs: 200 }]],
  ['is lost and asked for again', [{ delayMs: 200 }, 'after']],
] as const) {
  test(`[memory] a worker gives back what it claimed although the answer ${what} while it stops`, async () => {
    await using engine = await openEngine('memory');
    const faulty = faultyStorage(engine.storage);
    const work = defineJob('work', { run: () => 1 });
    await using millrace = new Millrace({ database: faulty.storage, jobs: [work] });
    const worker = millrace.worker();
    await worker.start();
    await worker.idle();
    const before = faulty.calls.length;
    faulty.fail('claim', faults);
    const handle = await millrace.dispatch(work, {});
    await waitFor(() => faulty.calls.slice(before).some(({ method }) => method === 'claim'), {
      describe: 'a claim to be on its way',
      intervalMs: 1,
    });
    await worker.stop();
    const job = await engine.storage.job(handle.id);
    expect(job).toMatchObject({ status: 'pending', attempts: 0, deaths: 0, lapses: 0 });
  });
}
