import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

/** More than any machine has: memory is always short. */
const allOfItMb = 1_048_576;
/** Denied jobs wait up to 10 s, and so does their name. */
const deadlineMs = 60_000;

/** A machine without memory to spare, on every engine. */
export function admissionSuite(name: Engine): void {
  describe.skipIf(process.platform !== 'linux')(`[${name}] worker: memory is short`, () => {
    it('an idle worker runs one job at a time; the next is put back uncharged, why tells the reason, and it runs later', async () => {
      await using engine = await openEngine(name);
      const release: (() => void)[] = [];
      const job = defineJob('hungry', {
        run: () => new Promise<void>((resolve) => void release.push(resolve)),
      });
      await using millrace = new Millrace({
        database: engine.storage,
        jobs: [job],
        workerSleep: '100ms',
        resourceSystemMemoryHeadroomMb: allOfItMb,
      });
      await using worker = millrace.worker({ concurrency: 5 });
      const handles = [await millrace.dispatch(job), await millrace.dispatch(job)];
      await worker.start();
      const [first, second] = handles as [(typeof handles)[0], (typeof handles)[0]];
      await waitFor(async () => (await second.job())?.reason != null, {
        describe: 'the second to be put back',
      });
      expect(release).toHaveLength(1);
      expect(await first.job()).toMatchObject({ status: 'processing' });
      expect(await second.job()).toMatchObject({ status: 'pending', attempts: 0, deaths: 0 });
      expect((await millrace.why(second.id))?.reasons.map(({ code }) => code)).toContain('not-admitted');
      release.shift()?.();
      await first.result({ timeout: deadlineMs });
      engine.clock.advance(15_000);
      await waitFor(() => release.length > 0, { describe: 'the second to start', deadlineMs });
      release.shift()?.();
      await second.result({ timeout: deadlineMs });
    }, 90_000);

    it('is not asked when admission is off', async () => {
      await using engine = await openEngine(name);
      let running = 0;
      let most = 0;
      const release: (() => void)[] = [];
      const job = defineJob('hungry', {
        async run() {
          running += 1;
          most = Math.max(most, running);
          await new Promise<void>((resolve) => void release.push(resolve));
          running -= 1;
        },
      });
      await using millrace = new Millrace({
        database: engine.storage,
        jobs: [job],
        resourceAdmission: 'off',
        resourceSystemMemoryHeadroomMb: allOfItMb,
      });
      await using worker = millrace.worker({ concurrency: 3 });
      for (let index = 0; index < 3; index += 1) await millrace.dispatch(job);
      await worker.start();
      await waitFor(() => release.length === 3, { describe: 'all three to run at once' });
      for (const resolve of release) resolve();
      await worker.idle();
      expect(most).toBe(3);
    });

    it('flush ends when only denied jobs are left', async () => {
      await using engine = await openEngine(name);
      let started = 0;
      const release: (() => void)[] = [];
      const job = defineJob('hungry', {
        run: () => {
          started += 1;
          return new Promise<void>((resolve) => void release.push(resolve));
        },
      });
      await using millrace = new Millrace({
        database: engine.storage,
        jobs: [job],
        resourceSystemMemoryHeadroomMb: allOfItMb,
      });
      for (let index = 0; index < 4; index += 1) await millrace.dispatch(job);
      const flushed = millrace.flush('default', { concurrency: 4 });
      await waitFor(async () => (await millrace.jobs({ status: 'pending' })).jobs.length === 3, {
        describe: 'three to be put back',
      });
      release[0]?.();
      expect(await flushed).toMatchObject({ completed: 1, putBack: 3 });
      expect(started).toBe(1);
    });
  });
}
