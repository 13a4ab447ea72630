import type { WhyBounds, WhyBudget, WhyLimit } from '../core/why-facts.js';
import type { SettingValues } from '../internal/settings.js';
import { type JobLimit, noBudgets } from '../storage/job-limit.js';
import type { JobRecord } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';

/** Of those that run so many are looked at, to name one and to sum up what they cost. */
const mostHolders = 20;
const mostSummed = 200;
const readAtOnce = 20;

/** What stands against a pending job beyond its time and turn, as far as the settings of this process tell. */
export async function boundsOf(
  storage: Storage,
  record: JobRecord,
  settings: SettingValues,
): Promise<WhyBounds> {
  if (record.status !== 'pending') return { limit: null, budgets: [] };
  return {
    limit: record.limit === null ? null : await limitFacts(storage, record, record.limit),
    budgets: [
      ...(await groupBudget(storage, record.limit, settings.groupCostBudgets)),
      ...(await queueBudget(storage, record.queue, settings.queueCostBudgets)),
    ],
  };
}

async function limitFacts(storage: Storage, record: JobRecord, limit: JobLimit): Promise<WhyLimit> {
  const { group, key } = limit;
  const state = (await storage.limits()).find((one) => one.group === group && one.key === key);
  const running = state?.running ?? 0;
  const own = limit.max ?? Number.POSITIVE_INFINITY;
  const least = Math.min(own, state?.max ?? own);
  if (running < least) return { group, key, most: own, running, holders: [] };
  const holders = await holdersOf(storage, record, limit);
  const held = Math.min(own, ...holders.map((holder) => holder.limit?.max ?? own));
  // What runs under other names can't be told from what waits; whether a job like this one could be claimed now can.
  const most = running >= held || (await couldRun(storage, record)) ? held : least;
  return { group, key, most, running, holders };
}

async function couldRun(storage: Storage, { queue, name, requires }: JobRecord): Promise<boolean> {
  const takes = [{ queues: [queue], names: [name], limit: 1, start: 1 }];
  return (await storage.peek({ takes, labels: requires, budgets: noBudgets })).dueInMs === 0;
}

/** Those of its own name, which mostly are all of the group. */
async function holdersOf(
  storage: Storage,
  { name }: JobRecord,
  { group, key }: JobLimit,
): Promise<JobRecord[]> {
  const { jobs } = await storage.jobs({ status: 'processing', name }, { limit: mostHolders });
  const records = await recordsOf(storage, jobs);
  return records.filter(
    ({ status, limit }) => status === 'processing' && limit?.group === group && limit.key === key,
  );
}

async function groupBudget(
  storage: Storage,
  limit: JobLimit | null,
  budgets: SettingValues['groupCostBudgets'],
): Promise<WhyBudget[]> {
  if (limit === null || !Object.hasOwn(budgets, limit.group)) return [];
  const states = (await storage.limits()).filter(({ group }) => group === limit.group);
  const running = states.reduce((sum, { runningCost }) => sum + runningCost, 0);
  return [{ of: 'group', name: limit.group, budget: budgets[limit.group] ?? 0, running }];
}

async function queueBudget(
  storage: Storage,
  queue: string,
  budgets: SettingValues['queueCostBudgets'],
): Promise<WhyBudget[]> {
  if (!Object.hasOwn(budgets, queue)) return [];
  const { jobs } = await storage.jobs({ status: 'processing', queue }, { limit: mostSummed });
  const records = await recordsOf(storage, jobs);
  const running = records.reduce((sum, { status, cost }) => sum + (status === 'processing' ? cost : 0), 0);
  return [{ of: 'queue', name: queue, budget: budgets[queue] ?? 0, running }];
}

async function recordsOf(storage: Storage, jobs: readonly { readonly id: string }[]): Promise<JobRecord[]> {
  const records: JobRecord[] = [];
  for (let at = 0; at < jobs.length; at += readAtOnce) {
    const some = await Promise.all(jobs.slice(at, at + readAtOnce).map(({ id }) => storage.job(id)));
    records.push(...some.filter((record) => record !== null));
  }
  return records;
}
