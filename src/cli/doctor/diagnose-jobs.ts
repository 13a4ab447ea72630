import type { WorkerListing } from '../../client/worker-view.js';
import { isServed } from '../../internal/queue-selection.js';
import { type Diagnosis, fine } from '../../storage/diagnosis.js';
import type { QueueStats } from '../../storage/job-record.js';
import { shortDuration } from '../output/relative-time.js';
import type { Session } from '../session.js';

const longWaitMs = 5 * 60_000;
/** Shorter than that, a worker may just be starting. */
const patienceMs = 60_000;

/** Queues, and whether somebody serves them. */
export async function diagnoseJobs({ client, storage, setup }: Session): Promise<Diagnosis[]> {
  const stats = await client.stats();
  const workers = (await client.workers()).filter(({ status }) => status !== 'offline');
  const leaseMs = setup.settings.values.staleTimeoutMs;
  const lapsed = await storage.expired({ expiredForMs: 2 * leaseMs, limit: 1 });
  return [
    oldestDue(stats),
    ...unserved(stats, workers),
    ...paused(stats),
    lapsed.length === 0
      ? fine('leases', 'none has lapsed unnoticed')
      : {
          check: 'leases',
          status: 'warn',
          message: 'jobs of a worker that is gone were not taken back yet',
          fix: 'Run a worker, which does that by itself, or: millrace recover',
        },
  ];
}

function oldestDue(stats: readonly QueueStats[]): Diagnosis {
  const due = stats.filter(({ oldestDueForMs }) => oldestDueForMs !== null);
  const oldest = due.toSorted((a, b) => (b.oldestDueForMs ?? 0) - (a.oldestDueForMs ?? 0))[0];
  const waitedMs = oldest?.oldestDueForMs ?? null;
  if (oldest === undefined || waitedMs === null) return fine('oldest due job', 'no job is due');
  const message = `due for ${shortDuration(waitedMs)} in queue ${oldest.queue}, with ${oldest.claimable} due there`;
  if (waitedMs < longWaitMs) return fine('oldest due job', message);
  return {
    check: 'oldest due job',
    status: 'warn',
    message,
    fix: 'Add workers or concurrency, or check that a worker knows these jobs',
  };
}

function unserved(stats: readonly QueueStats[], workers: readonly WorkerListing[]): Diagnosis[] {
  const isServedBySome = (queue: string): boolean => workers.some(({ queues }) => isServed(queues, queue));
  const found = stats.filter(({ queue, claimable }) => claimable > 0 && !isServedBySome(queue));
  if (found.length === 0) {
    return [fine('workers', `${workers.length} live, and every queue with due jobs is served`)];
  }
  return found.map(({ queue, claimable, oldestDueForMs }) => ({
    check: 'workers',
    status: (oldestDueForMs ?? 0) >= patienceMs ? 'fail' : 'warn',
    message: `queue ${queue} has ${claimable} due ${claimable === 1 ? 'job' : 'jobs'} and no live worker`,
    fix: `Run: millrace work --queue ${queue}`,
  }));
}

function paused(stats: readonly QueueStats[]): Diagnosis[] {
  return stats
    .filter((each) => each.paused && each.pending > 0)
    .map(({ queue, pending }) => ({
      check: 'paused queues',
      status: 'warn',
      message: `queue ${queue} is paused while ${pending} ${pending === 1 ? 'job waits' : 'jobs wait'} in it`,
      fix: `When that is no longer meant: millrace resume ${queue}`,
    }));
}
