import { expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { MillraceError } from '../../src/internal/errors.js';
import { openEngine } from '../support/engines.js';
import { type Fault, faultyStorage } from '../support/faulty-storage.js';

const refused = (): Error => new MillraceError('query-failed', 'one row of the batch was refused by a test');

/**
 * A refused batch is settled one by one. A database that went away in the middle of that was asked three times in a row;
 * then the result was replaced by a note, or given up and its job run again.
 */
test('[memory] the results of a refused batch outlast an outage as they are', async () => {
  await using engine = await openEngine('memory');
  const faulty = faultyStorage(engine.storage);
  let runs = 0;
  const count = defineJob('count', {
    run: () => {
      runs += 1;
      faulty.fail('exchange', ['before'], refused);
      faulty.fail('settle', Array<Fault>(5).fill('before'));
      return { whole: true };
    },
  });
  await using millrace = new Millrace({ database: faulty.storage, jobs: [count], workerSleep: '100ms' });
  await using worker = millrace.worker({ concurrency: 1 });
  await worker.start();
  const handle = await millrace.dispatch(count, {});
  expect(await handle.result({ timeout: '20s' })).toEqual({ whole: true });
  expect(runs).toBe(1);
  expect(worker.counts.of('lease-lost')).toBe(0);
});
