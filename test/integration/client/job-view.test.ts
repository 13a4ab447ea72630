import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { engineAvailable, openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

for (const engine of ['memory', 'sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] the view of a job`, () => {
    test('says how far a running job is, and gives every time as a date', async () => {
      await using database = await openEngine(engine);
      const startedAt = await database.storage.now();
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const copy = defineJob('copy', {
        attempts: 1,
        async run({ progress, log }: JobContext<undefined>) {
          log.info('begins');
          progress(3, 10, 'files');
          await released;
          throw new Error('the disk is full');
        },
      });
      await using millrace = new Millrace({ database: database.storage, jobs: [copy] });
      await using worker = millrace.worker();
      await worker.start();
      const { id } = await millrace.dispatch(copy);
      const running = await waitFor(async () => (await millrace.job(id))?.progress, {
        describe: 'the progress of the job to be stored',
      });
      expect(running).toMatchObject({ done: 3, total: 10, note: 'files' });
      expect((await millrace.why(id))?.job.progress).toEqual(running);

      release();
      await waitFor(async () => (await millrace.job(id))?.status === 'buried', {
        describe: 'the job to be buried',
      });
      const ended = await millrace.job(id);
      expect(ended).toMatchObject({ progress: null, failures: [{ error: { message: 'the disk is full' } }] });
      const times = [running.at, ended?.failures[0]?.at, (await millrace.log(id))[0]?.at];
      for (const at of times) {
        expect(at).toBeInstanceOf(Date);
        expect(at?.getTime()).toBeGreaterThanOrEqual(startedAt);
      }
    });
  });
}
