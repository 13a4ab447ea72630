import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { openEngine, type TestEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

/** Which queues a worker serves, and in which order, on every engine. */
export function queuesSuite(name: Engine, open: (engine: Engine) => Promise<TestEngine> = openEngine): void {
  /** Starts in their order, and a job that notes them; `most` stops it from starting more than so many. */
  const noting = () => {
    const started: string[] = [];
    const job = defineJob('note', { run: ({ job: { queue } }) => void started.push(queue) });
    return { started, job };
  };
  const fill = async (
    millrace: Millrace<readonly JobDefinition[]>,
    queue: string,
    count: number,
  ): Promise<void> => {
    await millrace.dispatchMany(Array.from({ length: count }, () => ({ job: 'note', options: { queue } })));
  };

  describe(`[${name}] worker: queues`, () => {
    it('serves a strict list in its order, and passes paused queues over', async () => {
      await using engine = await open(name);
      const { started, job } = noting();
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      for (const queue of ['low', 'default', 'critical', 'paused']) await fill(millrace, queue, 5);
      await millrace.pause('paused');
      await millrace.flush('critical,paused,default,low', { concurrency: 1 });
      const fives = (queue: string): string[] => Array.from({ length: 5 }, () => queue);
      expect(started).toEqual([...fives('critical'), ...fives('default'), ...fives('low')]);
    });

    it('shares jobs by weight, within a tenth over a thousand', async () => {
      await using engine = await open(name);
      const { started, job } = noting();
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      for (const queue of ['a', 'b', 'c']) await fill(millrace, queue, 900);
      await millrace.flush('a:6,b:3,c:1', { concurrency: 5 });
      expect(started).toHaveLength(2_700);
      const first = started.slice(0, 1_000);
      const share = (queue: string): number => first.filter((one) => one === queue).length;
      expect(share('a')).toBeGreaterThanOrEqual(540);
      expect(share('a')).toBeLessThanOrEqual(660);
      expect(share('b')).toBeGreaterThanOrEqual(270);
      expect(share('b')).toBeLessThanOrEqual(330);
      expect(share('c')).toBeGreaterThanOrEqual(90);
      expect(share('c')).toBeLessThanOrEqual(110);
    });

    it('gives the share of a queue without work to the others', async () => {
      await using engine = await open(name);
      const { started, job } = noting();
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      await using worker = millrace.worker({ queues: 'a:50,b:1', concurrency: 2 });
      await worker.start();
      await fill(millrace, 'b', 40);
      await waitFor(() => started.length === 40, { describe: 'all jobs of b to start' });
      await fill(millrace, 'a', 3);
      await waitFor(() => started.length === 43, { describe: 'the jobs of a to start' });
    });

    it('serves all queues there are and those to come, but for the exceptions', async () => {
      await using engine = await open(name);
      const { started, job } = noting();
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      await fill(millrace, 'first', 2);
      await fill(millrace, 'closed', 2);
      await using worker = millrace.worker({ queues: '*,!closed', concurrency: 2 });
      await worker.start();
      await waitFor(() => started.length === 2, { describe: 'the jobs that waited to start' });
      await fill(millrace, 'second', 2);
      await waitFor(() => started.length === 4, { describe: 'the jobs of a new queue to start' });
      await worker.idle();
      expect([...started].sort()).toEqual(['first', 'first', 'second', 'second']);
      expect(await millrace.stats('closed')).toMatchObject({ pending: 2 });
      expect((await millrace.workers())[0]?.queues).toEqual(['*', '!closed']);
    });

    it('serves more queues than a claim has parts, none of them last', async () => {
      await using engine = await open(name);
      const { started, job } = noting();
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      const queues = Array.from({ length: 40 }, (_, index) => `tenant-${index}`);
      await fill(millrace, 'tenant-0', 500);
      for (const queue of queues.slice(1)) await fill(millrace, queue, 3);
      await millrace.flush('*', { concurrency: 4 });
      expect(started).toHaveLength(500 + 39 * 3);
      // Each of forty has every fortieth turn while all have something, so the small ones are through early.
      const lastSmall = started.findLastIndex((queue) => queue !== 'tenant-0');
      expect(lastSmall).toBeLessThan(39 * 3 + 150);
    });
  });
}
