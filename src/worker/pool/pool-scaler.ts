/**
 * Looks at backlog, workers and memory every few seconds and says how many workers there should be. The rule is
 * core/scale-policy.ts; here is what it needs to know. A database that does not answer makes the backlog unknown, and the
 * pool keeps what it has.
 */
import type { PoolSize } from '../../core/pool-size.js';
import { decideScale, type ScaleDecision, type ScaleFacts } from '../../core/scale-policy.js';
import { withDeadline } from '../../internal/deadline.js';
import { describeFailure } from '../../internal/failure.js';
import type { Logger } from '../../internal/logger.js';
import type { QueueSelection } from '../../internal/queue-selection.js';
import type { QueueStats } from '../../storage/job-record.js';
import { createStorage } from '../../storage/open-storage.js';
import type { Storage } from '../../storage/storage.js';
import { monotonicMs } from '../monotonic.js';
import type { PoolSetup } from './pool-messages.js';
import type { PoolSlot } from './pool-slot.js';

export interface PoolScalerOptions {
  readonly setup: PoolSetup;
  readonly size: Extract<PoolSize, { kind: 'adaptive' }>;
  readonly logger: Logger;
  readonly slots: () => readonly PoolSlot[];
  readonly scaleTo: (workers: number) => void;
}

const closeDeadlineMs = 5_000;
const profileWindowMs = 3_600_000;
const percentile = 0.95;

export class PoolScaler {
  readonly #options: PoolScalerOptions;
  #storage: Storage | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #isStopped = false;
  #backlogAtMs = monotonicMs();
  #lastTold = '';

  constructor(options: PoolScalerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), this.#options.setup.scaleIntervalMs);
    void this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    const storage = this.#storage;
    this.#storage = null;
    if (storage === null) return;
    withDeadline(storage.close(), { ms: closeDeadlineMs, name: 'closing the database' }).catch(
      () => undefined,
    );
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const facts = await this.#facts();
      if (!this.#isStopped) this.#apply(facts, decideScale(facts));
    } finally {
      this.#isLooking = false;
    }
  }

  #apply(facts: ScaleFacts, decision: ScaleDecision): void {
    const { workers, reason, wanted } = decision;
    const told = `${workers} ${reason}`;
    const isHeldBack = reason === 'low-memory' || reason === 'backlog-unknown';
    if (workers !== facts.workers || (isHeldBack && told !== this.#lastTold)) {
      const { wait, ...numbers } = facts;
      this.#options.logger.info(`pool: ${facts.workers} → ${workers} workers (${reason})`, {
        wanted,
        ...numbers,
        ...(wait === null ? {} : { averageMs: wait.averageMs, targetWaitMs: wait.targetMs }),
      });
    }
    this.#lastTold = told;
    this.#options.scaleTo(workers);
  }

  async #facts(): Promise<ScaleFacts> {
    const { setup, size, slots } = this.#options;
    const { claimable, averageMs } = await this.#backlog();
    const now = monotonicMs();
    if (claimable !== 0) this.#backlogAtMs = now;
    const wanted = slots().filter(({ isWanted }) => isWanted);
    const { min, max, targetWaitMs } = size;
    return {
      claimable,
      running: slots().reduce((sum, { status }) => sum + (status?.running ?? 0), 0),
      workers: wanted.length,
      lanesPerWorker: Math.max(...wanted.map(({ status }) => status?.lanes ?? 0), 0) || setup.lanesPerWorker,
      min,
      max,
      idleForMs: Math.round(now - this.#backlogAtMs),
      idleGraceMs: setup.idleGraceMs,
      workerBytes: percentileOf(wanted.flatMap(({ status }) => (status === null ? [] : [status.rssBytes]))),
      availableBytes: process.availableMemory(),
      headroomBytes: setup.headroomBytes,
      wait: targetWaitMs === null || averageMs === null ? null : { targetMs: targetWaitMs, averageMs },
    };
  }

  async #backlog(): Promise<{ claimable: number | null; averageMs: number | null }> {
    const { queues, handlers } = this.#options.setup;
    try {
      const storage = await this.#opened();
      const paused = new Set(await storage.pausedQueues());
      const stats = (await statsOf(storage, queues)).filter(({ queue }) => !paused.has(queue));
      const claimable = stats.reduce((sum, each) => sum + each.claimable, 0);
      const averageMs = this.#options.size.targetWaitMs === null ? null : await averageOf(storage, handlers);
      return { claimable, averageMs };
    } catch (error) {
      this.#options.logger.debug('pool: the backlog could not be read', {
        error: describeFailure(error).message,
      });
      return { claimable: null, averageMs: null };
    }
  }

  async #opened(): Promise<Storage> {
    if (this.#storage !== null) return this.#storage;
    const { database, databaseTimeoutMs } = this.#options.setup;
    const storage = await createStorage(database, { statementTimeoutMs: databaseTimeoutMs });
    try {
      await storage.open();
      if (this.#isStopped) throw new Error('the pool has stopped');
    } catch (error) {
      await storage.close();
      throw error;
    }
    this.#storage = storage;
    return storage;
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
async function averageOf(storage: Storage, handlers: readonly string[]): Promise<number | null> {
  const profiles = await storage.profiles(handlers, profileWindowMs);
  const count = profiles.reduce((sum, profile) => sum + profile.count, 0);
  if (count === 0) return null;
  return profiles.reduce((sum, profile) => sum + profile.averageMs * profile.count, 0) / count;
}

function percentileOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * percentile) - 1, 0)] ?? null;
}
