import { setTimeout as delay } from 'node:timers/promises';
import { defineJob, Millrace } from '../../dist/index.js';
import { perSecond } from '../clock.mjs';
import { range } from '../payload.mjs';

const concurrency = 100;
const piece = 20_000;
const deadlineMs = 120_000;
const roomy = 1_000;

/** What bounds the job with this number. */
const BOUNDS = {
  none: () => ({}),
  groups: (i) => ({ limit: { group: `g${i % 10}`, max: roomy } }),
  keys: (i) => ({ limit: { group: 'tenants', key: `k${i % 1_000}`, max: roomy } }),
  budgets: (i) => ({ cost: (i % 3) + 1 }),
  saturated: () => ({}),
};

/**
 * Drains jobs under limits with room, a thousand keys, a budget of their queue, or ordinary ones behind jobs of a group that
 * is full. Each job does nothing; time runs from the start of the worker to the acknowledgement of the last result.
 */
export async function drainBounded({ database, kind, jobs, head }) {
  const noop = defineJob('noop', { run: () => undefined });
  const queueCostBudgets = kind === 'budgets' ? { default: roomy } : {};
  const millrace = new Millrace({ database, jobs: [noop], migrate: 'auto', queueCostBudgets });
  const load = async (count, optionsOf) => {
    for (let start = 0; start < count; start += piece) {
      const numbers = range(start, Math.min(piece, count - start));
      await millrace.dispatchMany(numbers.map((i) => ({ job: noop, options: optionsOf(i) })));
    }
  };
  const standing = kind === 'saturated' ? head : 0;
  if (standing > 0) {
    await load(standing, () => ({ priority: 'high', limit: { group: 'full', max: 1 } }));
    await hold(await millrace.internals.storage());
  }
  await load(jobs, BOUNDS[kind]);
  const worker = millrace.worker({ concurrency });
  const startedMs = performance.now();
  await worker.start();
  while (worker.counts.of('completed') < jobs && performance.now() - startedMs < deadlineMs) await delay(1);
  const elapsedMs = performance.now() - startedMs;
  await worker.stop();
  const { completed, pending } = await millrace.stats('default');
  await millrace.close();
  const left = Math.max(standing - 1, 0);
  const problems =
    completed === jobs && pending === left ? [] : [`${completed} of ${jobs} completed, ${pending} left`];
  return { jobs, perSec: perSecond(jobs, elapsedMs * 1_000), problems };
}

/** Takes the one place of the group for longer than the measurement lasts. */
async function hold(storage) {
  const takes = [{ queues: ['default'], names: ['noop'], limit: 1, start: 1 }];
  const budgets = { queues: {}, groups: {} };
  const lease = { token: 'b'.repeat(32), workerId: 'bench', leaseMs: 3_600_000 };
  await storage.claim({ ...lease, takes, labels: [], budgets, alone: false });
}
