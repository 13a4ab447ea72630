/**
 * Counts how a worker that had nothing to do found its next jobs: told of by a wake-up, at the time they were due (it had
 * looked when that is), or by the poll, which is the backstop of both. What a busy worker takes along counts apart.
 *
 * A poll now and then finds what a wake-up was about to tell. Where jobs that one should have told of (new, not delayed) are
 * found by the poll again and again and no wake-up comes at all, the worker runs on its fallback alone: every job starts up
 * to a poll later than it could, and nothing else shows it. That is an alarm until the next wake-up.
 */
import { spell } from '../../core/spell-duration.js';
import type { ClaimedJob } from '../../storage/claimed-job.js';
import { monotonicMs } from '../monotonic.js';

/** What made a worker look that knew of nothing. */
export type WakeCause = 'push' | 'due' | 'poll' | 'other';

export interface FoundCounts {
  readonly push: number;
  readonly due: number;
  readonly poll: number;
  /** Taken by a worker that was at work, or had just begun. */
  readonly along: number;
}

export interface FoundMeterOptions {
  readonly pollMs: number;
  /** The engine tells of new jobs; else polling is no fallback. */
  readonly hasPush: boolean;
  /** Best knowledge of the database's clock, epoch ms. */
  readonly databaseNow: () => number;
  readonly now?: () => number;
}

/** Fewer may be chance. */
const fewestMissed = 10;
/** So many polls without a wake-up while jobs came. */
const fewestPolls = 60;
/** A new job that is due later than so much after it was made was delayed. */
const atOnceMs = 100;

export class FoundMeter {
  readonly #options: FoundMeterOptions;
  readonly #now: () => number;
  readonly #counts = { push: 0, due: 0, poll: 0, along: 0 };
  /** Since the last wake-up. */
  #missed = 0;
  #missedSinceMs = 0;

  constructor(options: FoundMeterOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
  }

  get counts(): FoundCounts {
    return { ...this.#counts };
  }

  /** A wake-up came, whether or not it brings anything. */
  pushed(): void {
    this.#missed = 0;
  }

  /** What a claim brought. */
  found(jobs: readonly ClaimedJob[], cause: WakeCause): void {
    this.#counts[cause === 'other' ? 'along' : cause] += jobs.length;
    if (cause !== 'poll' || !this.#options.hasPush) return;
    const missed = jobs.filter((job) => this.#wasMissed(job)).length;
    if (missed === 0) return;
    if (this.#missed === 0) this.#missedSinceMs = this.#now();
    this.#missed += missed;
  }

  /** In words; null: wake-ups come, or are not missed. */
  get alarm(): string | null {
    const forMs = this.#now() - this.#missedSinceMs;
    if (this.#missed < fewestMissed || forMs < fewestPolls * this.#options.pollMs) return null;
    return `the last ${this.#missed} new jobs were found by the poll alone, and no wake-up came for ${spell(forMs)}: jobs start up to ${spell(this.#options.pollMs)} late`;
  }

  /** It was made since the poll before, to run at once: a wake-up should have told of it. */
  #wasMissed({ createdAtMs, dueAtMs, attempts, deaths, limit, cost, requires }: ClaimedJob): boolean {
    const { pollMs, databaseNow } = this.#options;
    const isNew = databaseNow() - createdAtMs < 2 * pollMs && attempts === 0 && deaths === 0;
    const isFree = limit === null && cost === 1 && requires.length === 0;
    return isNew && isFree && dueAtMs - createdAtMs <= atOnceMs;
  }
}
