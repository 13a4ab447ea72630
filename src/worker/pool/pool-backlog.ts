import { withDeadline } from '../../internal/deadline.js';
import type { QueueSelection } from '../../internal/queue-selection.js';
import type { HandlerProfile } from '../../storage/handler-profile.js';
import type { QueueStats } from '../../storage/job-record.js';
import { createStorage } from '../../storage/open-storage.js';
import type { Storage } from '../../storage/storage.js';
import type { PoolBacklog, PoolSetup } from './pool-messages.js';
import type { PoolSlot } from './pool-slot.js';

/** Where a pool learns what waits for it. */
export interface BacklogSource {
  /** Rejects where it can't be known now. */
  read(): Promise<PoolBacklog>;
  close(): void;
}

/** How far back attempts count for what a job takes. */
export const profileWindowMs = 3_600_000;
const closeDeadlineMs = 5_000;
const memberAnswersMs = 4_000;

/** By a connection of the supervisor's own. */
export class DatabaseBacklog implements BacklogSource {
  readonly #setup: PoolSetup;
  readonly #wantsAverage: boolean;
  #storage: Storage | null = null;
  #isClosed = false;

  constructor(setup: PoolSetup, wantsAverage: boolean) {
    this.#setup = setup;
    this.#wantsAverage = wantsAverage;
  }

  async read(): Promise<PoolBacklog> {
    const { queues, handlers } = this.#setup;
    const storage = await this.#opened();
    const paused = new Set(await storage.pausedQueues());
    const stats = (await statsOf(storage, queues)).filter(({ queue }) => !paused.has(queue));
    const claimable = stats.reduce((sum, each) => sum + each.claimable, 0);
    const averageMs = this.#wantsAverage
      ? averageOf(await storage.profiles(handlers, profileWindowMs))
      : null;
    return { claimable, averageMs };
  }

  close(): void {
    this.#isClosed = true;
    const storage = this.#storage;
    this.#storage = null;
    if (storage === null) return;
    withDeadline(storage.close(), { ms: closeDeadlineMs, name: 'closing the database' }).catch(
      () => undefined,
    );
  }

  async #opened(): Promise<Storage> {
    if (this.#storage !== null) return this.#storage;
    const { database, databaseTimeoutMs } = this.#setup;
    const storage = await createStorage(database, { statementTimeoutMs: databaseTimeoutMs });
    try {
      await storage.open();
      if (this.#isClosed) throw new Error('the pool has stopped');
    } catch (error) {
      await storage.close();
      throw error;
    }
    this.#storage = storage;
    return storage;
  }
}

/** Behind a hub: by a worker of the pool, which asks its hub. A pool has one at least. */
export class MemberBacklog implements BacklogSource {
  readonly #slots: () => readonly PoolSlot[];

  constructor(slots: () => readonly PoolSlot[]) {
    this.#slots = slots;
  }

  async read(): Promise<PoolBacklog> {
    let failure: unknown = new Error('no worker of the pool is up');
    for (const slot of this.#slots().filter(({ state }) => state === 'up')) {
      try {
        return await withDeadline(slot.askBacklog(), {
          ms: memberAnswersMs,
          name: `the backlog as worker ${slot.number} knows it`,
        });
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  close(): void {
    // Its workers are their own.
  }
}

async function statsOf(storage: Storage, selection: QueueSelection): Promise<QueueStats[]> {
  if (selection.order === 'all')
    return (await storage.stats()).filter(({ queue }) => !selection.except.includes(queue));
  const names = selection.order === 'strict' ? selection.queues : selection.shares.map(({ queue }) => queue);
  const stats: QueueStats[] = [];
  for (const name of names) stats.push(...(await storage.stats(name)));
  return stats;
}

/** Of all jobs that these handlers ran of late, ms; null while nothing is known. */
export function averageOf(profiles: readonly HandlerProfile[]): number | null {
  const count = profiles.reduce((sum, profile) => sum + profile.count, 0);
  if (count === 0) return null;
  return profiles.reduce((sum, profile) => sum + profile.averageMs * profile.count, 0) / count;
}
