import type { Storage } from '../../src/storage/storage.js';
import { claimOf } from '../support/claim-request.js';
import { nextToken, type World } from './world.js';

const DAY = 86_400_000;

/** Unpauses, takes back, claims, cancels and purges until a run's jobs are gone; the ids of those that are left. */
export async function drainThroughTheSeam(
  storage: Storage,
  world: World,
  advance: (ms: number) => void,
): Promise<string[]> {
  for (const queue of world.queues) await storage.setPaused(queue, false);
  // Longer than every delay, period, retention and lease of a run.
  advance(2 * DAY);
  // What clocks that jumped by days have torn is mended by the sweeps.
  await storage.tidy({ settled: 0, idle: true });
  await takeEverythingBack(storage);
  // A dependent may become runnable with each round; a chain is never longer than the number of jobs.
  for (let round = 0; round <= world.ids.length; round += 1) {
    if (!(await cancelRunnable(storage, world))) break;
  }
  advance(DAY);
  while (
    (await storage.purge({ statuses: ['completed', 'buried', 'cancelled'], olderThanMs: 0, limit: 1_000 })) >
    0
  );
  await storage.purgeTraces({ olderThanMs: 0, limit: 1_000 });
  const pages = await Promise.all(world.queues.map((queue) => storage.jobs({ queue }, { limit: 1_000 })));
  return pages.flatMap(({ jobs }) => jobs.map(({ id, status }) => `${status} ${id}`));
}

async function takeEverythingBack(storage: Storage): Promise<void> {
  for (;;) {
    const leases = await storage.expired({ expiredForMs: 0, limit: 1_000 });
    if (leases.length === 0) return;
    await storage.takeBack(leases.map((lease) => ({ ...lease, kind: 'poison', errors: '[]' })));
  }
}

async function cancelRunnable(storage: Storage, world: World): Promise<boolean> {
  let found = false;
  for (const alone of [false, true]) {
    for (;;) {
      const claimed = await storage.claim(
        claimOf({
          token: nextToken(world, world.incarnations[0] ?? ''),
          workerId: 'drain',
          leaseMs: DAY,
          queues: world.queues,
          names: world.names,
          limit: 1_000,
          start: 1_000,
          alone,
          labels: world.labels,
        }),
      );
      if (claimed.length === 0) break;
      found = true;
      await storage.settle(claimed.map(({ id, token }) => ({ id, token, kind: 'cancelled', reason: null })));
    }
  }
  return found;
}
