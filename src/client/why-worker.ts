import { type WhyWorkerFacts, type WorkerReason, whyWorkerReasons } from '../core/why-worker.js';
import { isServed } from '../internal/queue-selection.js';
import type { SettingValues } from '../internal/settings.js';
import type { QueueStats } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';
import { toWorkerListing, type WorkerListing } from './worker-view.js';

export interface WhyWorker {
  readonly worker: WorkerListing;
  /** The one to look at first stands first; never empty. */
  readonly reasons: readonly WorkerReason[];
}

/** Of so many queues with due jobs the first ones are looked at. */
const queuesLooked = 10;
const jobsLooked = 100;

/** What is known of the worker, its queues and what waits there, read one after the other; null when there is none of this id. */
export async function explainWorker(
  storage: Storage,
  id: string,
  settings: SettingValues,
): Promise<WhyWorker | null> {
  const record = (await storage.workers()).find((worker) => worker.id === id);
  if (record === undefined) return null;
  const worker = toWorkerListing(record, settings);
  const served = (await storage.stats()).filter(({ queue }) => isServed(record.queues, queue));
  const facts: WhyWorkerFacts = {
    worker: {
      ...worker,
      gone: record.gone,
      isStale: worker.status === 'stale' || worker.status === 'offline',
      stateReason: worker.transitions.at(-1)?.reason ?? null,
      loopLagMs: worker.usage.loopLagMs,
      withoutLane: textsOf(worker.details['withoutLane']),
      notAdmitted: textsOf(worker.details['notAdmitted']),
      alarms: textsOf(worker.details['alarms']),
      found: foundOf(numbersOf(worker.details['found'])),
    },
    queues: await Promise.all(served.map((stats, index) => queueOf(storage, stats, index))),
  };
  return { worker, reasons: whyWorkerReasons(facts) };
}

async function queueOf(
  storage: Storage,
  { queue, paused, claimable }: QueueStats,
  index: number,
): Promise<WhyWorkerFacts['queues'][number]> {
  if (claimable === 0 || index >= queuesLooked) return { queue, paused, claimable, dueNames: [] };
  const nowMs = await storage.now();
  // In the order of the claim: by priority, then due time.
  const { jobs } = await storage.jobs({ queue, status: 'pending' }, { limit: jobsLooked });
  const due = jobs.filter(({ dueAtMs }) => dueAtMs <= nowMs).map(({ name }) => name);
  return { queue, paused, claimable, dueNames: [...new Set(due)] };
}

function foundOf({ push, due, poll }: Record<string, number>): WhyWorkerFacts['worker']['found'] {
  return push === undefined || due === undefined || poll === undefined ? null : { push, due, poll };
}

/** What a worker tells of itself is as old as its code. */
export function textsOf(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  const entries = Object.entries(value).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string';
  });
  return Object.fromEntries(entries);
}

/** The same for counts. */
export function numbersOf(value: unknown): Record<string, number> {
  if (typeof value !== 'object' || value === null) return {};
  const entries = Object.entries(value).filter((entry): entry is [string, number] => {
    return Number.isFinite(entry[1]);
  });
  return Object.fromEntries(entries);
}
