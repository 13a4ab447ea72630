import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { openEngine, type TestEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

const before = defineJob('mail', { run: ({ input }: { input: { to: string } }) => `one ${input.to}` });
const after = defineJob('mail', {
  upcast: [({ to }: { to: string }) => ({ all: [to] })],
  run: ({ input }: { input: { all: string[] } }) => `all ${input.all.join()}`,
});

/** Two versions of an application on one database, as during a rolling deploy. */
export function upcastSuite(name: Engine, open: (engine: Engine) => Promise<TestEngine> = openEngine): void {
  describe(`[${name}] worker: payloads of other versions`, () => {
    it('what was dispatched before a deploy runs after it', async () => {
      await using engine = await open(name);
      await using old = new Millrace({ database: engine.storage, jobs: [before] });
      await using fresh = new Millrace({ database: engine.storage, jobs: [after] });
      const { id } = await old.dispatch(before, { to: 'Ada' });
      const newer = await fresh.dispatch(after, { all: ['Grace', 'Alan'] });
      expect([(await old.job(id))?.version, (await newer.job())?.version]).toEqual([1, 2]);
      await using worker = fresh.worker();
      await worker.start();
      expect(await fresh.handle(id).result({ timeout: '10s' })).toBe('all Ada');
      expect(await newer.result({ timeout: '10s' })).toBe('all Grace,Alan');
    });

    it('a worker with older code puts a newer payload back, uncharged, and says why', async () => {
      await using engine = await open(name);
      await using old = new Millrace({ database: engine.storage, jobs: [before] });
      await using fresh = new Millrace({ database: engine.storage, jobs: [after] });
      const handle = await fresh.dispatch(after, { all: ['Ada'] });
      await using worker = old.worker();
      await worker.start();
      await waitFor(async () => (await handle.job())?.reason != null, { describe: 'the job to be put back' });
      const job = await handle.job();
      expect(job).toMatchObject({ status: 'pending', attempts: 0, failures: [] });
      expect(job?.reason).toMatch(/^payload-newer: its input has version 2, the code of worker .* knows 1$/);
      expect(job?.dueAt.getTime()).toBeGreaterThan(await engine.storage.now());
      await worker.stop();
      await using deployed = fresh.worker();
      await deployed.start();
      engine.clock.advance(20_000);
      expect(await handle.result({ timeout: '10s' })).toBe('all Ada');
    });

    it('an edited input has the version of the code that edited it', async () => {
      await using engine = await open(name);
      await using old = new Millrace({ database: engine.storage, jobs: [before] });
      await using fresh = new Millrace({ database: engine.storage, jobs: [after] });
      const { id } = await old.dispatch(before, { to: 'Ada' }, { delay: '1h' });
      await fresh.edit(id, { input: { all: ['Grace'] }, delay: 0 });
      expect((await fresh.job(id))?.version).toBe(2);
      await using worker = fresh.worker();
      await worker.start();
      expect(await fresh.handle(id).result({ timeout: '10s' })).toBe('all Grace');
    });
  });
}
