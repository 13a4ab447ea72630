/**
 * Looks at backlog, workers and memory every few seconds and says how many workers there should be. The rule is
 * core/scale-policy.ts; here is what it needs to know. A database or hub that does not answer makes the backlog unknown, and the
 * pool keeps what it has.
 */
import type { PoolSize } from '../../core/pool-size.js';
import { decideScale, type ScaleDecision, type ScaleFacts } from '../../core/scale-policy.js';
import { describeFailure } from '../../internal/failure.js';
import type { Logger } from '../../internal/logger.js';
import { monotonicMs } from '../monotonic.js';
import { type BacklogSource, DatabaseBacklog, MemberBacklog } from './pool-backlog.js';
import type { PoolSetup } from './pool-messages.js';
import type { PoolSlot } from './pool-slot.js';

export interface PoolScalerOptions {
  readonly setup: PoolSetup;
  readonly size: Extract<PoolSize, { kind: 'adaptive' }>;
  readonly logger: Logger;
  readonly slots: () => readonly PoolSlot[];
  readonly scaleTo: (workers: number) => void;
}

const percentile = 0.95;

export class PoolScaler {
  readonly #options: PoolScalerOptions;
  readonly #source: BacklogSource;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #isStopped = false;
  #backlogAtMs = monotonicMs();
  #lastTold = '';

  constructor(options: PoolScalerOptions) {
    this.#options = options;
    const { setup, size, slots } = options;
    this.#source = setup.isBehindHub
      ? new MemberBacklog(slots)
      : new DatabaseBacklog(setup, size.targetWaitMs !== null);
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), this.#options.setup.scaleIntervalMs);
    void this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#source.close();
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
    try {
      return await this.#source.read();
    } catch (error) {
      this.#options.logger.debug('pool: the backlog could not be read', {
        error: describeFailure(error).message,
      });
      return { claimable: null, averageMs: null };
    }
  }
}

function percentileOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil(sorted.length * percentile) - 1, 0)] ?? null;
}
