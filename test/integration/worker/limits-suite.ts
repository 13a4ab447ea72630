import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { MillraceOptions } from '../../../src/client/millrace-options.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

interface Work {
  readonly tenant?: string;
  readonly n?: number;
}

/** What runs at this moment, and the most that ever did. */
class Gauge {
  #now = 0;
  most = 0;

  async hold(cost = 1): Promise<void> {
    this.#now += cost;
    this.most = Math.max(this.most, this.#now);
    // As long as another worker needs to claim, so that one too many would be seen.
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    this.#now -= cost;
  }
}

/** Real workers under limits, budgets and labels. */
export function limitsSuite(name: Engine, open: (engine: Engine) => Promise<TestEngine> = openEngine): void {
  async function allEnded({ storage }: TestEngine, queue = 'default'): Promise<void> {
    await waitFor(
      async () => {
        const [stats] = await storage.stats(queue);
        return stats?.pending === 0 && stats.processing === 0;
      },
      { describe: 'every job to end', deadlineMs: 60_000 },
    );
  }

  describe.skipIf(!engineAvailable(name))(`[${name}] worker: limits`, () => {
    it('three workers never run more of a group and key than its limit, and run all', async () => {
      await using engine = await open(name);
      const gauges = new Map([...'abc'].map((tenant) => [tenant, new Gauge()]));
      const job = defineJob('work', {
        limit: { group: 'tenants', max: 2, key: ({ tenant = '' }: Work) => tenant },
        run: ({ input }: { input: Work }) => gauges.get(input.tenant ?? '')?.hold(),
      });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      const entries = [...gauges.keys()].flatMap((tenant) => Array.from({ length: 20 }, () => tenant));
      await millrace.dispatchMany(entries.map((tenant) => ({ job, input: { tenant } })));
      const workers = Array.from({ length: 3 }, () => millrace.worker({ concurrency: 10 }));
      await Promise.all(workers.map((worker) => worker.start()));
      await allEnded(engine);
      expect((await millrace.stats('default')).completed).toBe(60);
      expect([...gauges.values()].map(({ most }) => most)).toEqual([2, 2, 2]);
    });

    it('limited jobs are not kept waiting by a buffer that is always full', { timeout: 60_000 }, async () => {
      await using engine = await open(name);
      const order: string[] = [];
      const plain = defineJob('plain', { run: () => void order.push('plain') });
      const limited = defineJob('limited', {
        limit: { group: 'few', max: 2 },
        run: () => void order.push('limited'),
      });
      await using millrace = new Millrace({ database: engine.storage, jobs: [plain, limited] });
      const some = (count: number) => Array.from({ length: count }, () => ({ job: plain }));
      await millrace.dispatchMany(some(500));
      await millrace.dispatchMany(Array.from({ length: 20 }, () => ({ job: limited })));
      await millrace.dispatchMany(some(4_000));
      await using worker = millrace.worker({ concurrency: 4 });
      await worker.start();
      await allEnded(engine);
      expect(order).toHaveLength(4_520);
      // They stand behind 500; beside those at most what a buffer or two held goes before the last of them.
      expect(order.lastIndexOf('limited')).toBeLessThan(4_000);
    });

    it('the running cost of a queue and of a group stays within their budgets', async () => {
      await using engine = await open(name);
      const [inQueue, inGroup] = [new Gauge(), new Gauge()];
      const cheap = defineJob('cheap', { queue: 'heavy', run: () => inQueue.hold() });
      const dear = defineJob('dear', { queue: 'heavy', cost: 3, run: () => inQueue.hold(3) });
      const grouped = defineJob('grouped', {
        limit: { group: 'shared' },
        cost: 2,
        run: () => inGroup.hold(2),
      });
      const options: MillraceOptions = {
        database: engine.storage,
        jobs: [cheap, dear, grouped],
        queueCostBudgets: { heavy: 5 },
        groupCostBudgets: 'shared=4',
      };
      await using millrace = new Millrace(options);
      const entries = Array.from({ length: 10 }, () => [{ job: cheap }, { job: dear }, { job: grouped }]);
      await millrace.dispatchMany(entries.flat());
      const queues = ['heavy', 'default'];
      const workers = [millrace.worker({ queues }), millrace.worker({ queues })];
      await Promise.all(workers.map((worker) => worker.start()));
      await allEnded(engine, 'heavy');
      await allEnded(engine);
      expect(inQueue.most).toBeLessThanOrEqual(5);
      expect(inQueue.most).toBeGreaterThanOrEqual(3);
      expect(inGroup.most).toBe(4);
    });

    it('a job that costs more than its whole budget is told of at dispatch, once for each kind', async () => {
      await using engine = await open(name);
      const told: string[] = [];
      const quiet = (): void => undefined;
      const logger = {
        debug: quiet,
        info: quiet,
        error: quiet,
        warn: (text: string) => void told.push(text),
      };
      const dear = defineJob('dear', { queue: 'heavy', cost: 6, run: () => undefined });
      await using millrace = new Millrace({
        database: engine.storage,
        jobs: [dear],
        queueCostBudgets: { heavy: 5 },
        logger,
      });
      const { id } = await millrace.dispatch(dear);
      await millrace.dispatch(dear);
      await millrace.dispatch(dear, undefined, { cost: 5 });
      await millrace.dispatch(dear, undefined, { queue: 'light' });
      expect(told).toEqual([expect.stringContaining('costs more than the whole budget of its queue')]);
      expect((await millrace.why(id))?.reasons[0]?.code).toBe('above-budget');
    });

    it('a worker takes what asks for its labels, and tells them', async () => {
      await using engine = await open(name);
      const job = defineJob('work', { requires: ['gpu'], run: () => 1 });
      const plain = defineJob('plain', { run: () => 1 });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job, plain], labels: 'eu' });
      const handle = await millrace.dispatch(job);
      await using other = millrace.worker();
      await other.start();
      await (await millrace.dispatch(plain)).result({ timeout: '20s' });
      expect((await handle.job())?.status).toBe('pending');
      await using able = millrace.worker({ labels: ['gpu', 'eu'] });
      await able.start();
      await handle.result({ timeout: '20s' });
      const labels = (await millrace.workers()).map((worker) => worker.labels);
      expect(labels.sort()).toEqual([['eu'], ['eu', 'gpu']]);
    });

    it('an attempt that fails gives its place free while it waits for the next', async () => {
      await using engine = await open(name);
      const job = defineJob('work', {
        limit: { group: 'one', max: 1 },
        backoff: { type: 'fixed', base: '1h' },
        run: ({ input }: { input: Work }) => {
          if (input.n === 1) throw new Error('no');
        },
      });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      const failing = await millrace.dispatch(job, { n: 1 });
      const next = await millrace.dispatch(job, { n: 2 });
      await using worker = millrace.worker();
      await worker.start();
      await next.result({ timeout: '20s' });
      expect(await failing.job()).toMatchObject({ status: 'pending', attempts: 1 });
    });
  });
}
