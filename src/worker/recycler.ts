/**
 * Decides when a worker makes room for a fresh one, and waits for its turn: at most a quarter of the live workers of one
 * queue list, and at least one, are away at once. A turn is a row like a duty's, under the id of the worker, so that the
 * next incarnation can give it back once it runs (`giveBack`); else it lapses by its time.
 *
 * working ──threshold or wish──▶ waiting for a turn ──has it, or waited too long──▶ told once (`onTurn`)
 *
 * What it does not promise: that the share is kept while the database answers nobody, or after the longest wait; a worker
 * that is too big must not wait for ever.
 */
import { decideRecycle, type RecycleFacts, type RecycleRules } from '../core/recycle.js';
import type { Logger } from '../internal/logger.js';
import { monotonicMs } from './monotonic.js';
import { type RecycleTurns, turnMs } from './recycle-turns.js';

export interface RecyclerOptions {
  readonly turns: RecycleTurns;
  readonly rules: RecycleRules;
  readonly logger: Logger;
  readonly onTurn: (wish: RecycleWish) => void;
}

export interface RecycleWish {
  readonly reason: 'lanes-quarantined' | 'recycle-jobs' | 'memory' | 'recycle-asked';
  readonly text: string;
}

const longestWaitMs = 15 * 60_000;
const askEveryMs = 1_000;

export class Recycler {
  readonly #options: RecyclerOptions;
  #wish: RecycleWish | null = null;
  #waitingSinceMs = 0;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #hasTurn = false;
  #isTold = false;
  #isAsking = false;

  constructor(options: RecyclerOptions) {
    this.#options = options;
  }

  /** To be called every second. */
  tick(facts: RecycleFacts): void {
    const decision = this.#wish === null ? decideRecycle(this.#options.rules, facts) : null;
    if (decision !== null) this.ask(decision);
    if (this.#wish === null || this.#isAsking || monotonicMs() - this.#askedAtMs < askEveryMs) return;
    if (!this.#isTold) void this.#askForTurn(this.#wish);
    else if (monotonicMs() - this.#askedAtMs > turnMs / 3) void this.#extend();
  }

  /** A wish from outside, or of a threshold; the first one stands. */
  ask(wish: RecycleWish): void {
    if (this.#wish !== null) return;
    this.#wish = wish;
    this.#waitingSinceMs = monotonicMs();
  }

  /** The worker ends: whoever comes in its place has so long to do so. */
  async leave(): Promise<void> {
    if (!this.#hasTurn) return;
    try {
      await this.#options.turns.leave();
    } catch (error) {
      this.#noteLapse(error);
    }
  }

  async #askForTurn(wish: RecycleWish): Promise<void> {
    this.#isAsking = true;
    this.#askedAtMs = monotonicMs();
    const isLate = monotonicMs() - this.#waitingSinceMs >= longestWaitMs;
    try {
      const { isGranted, turns } = await this.#options.turns.take();
      this.#hasTurn = isGranted;
      if (!isGranted && !isLate) this.#noteWait(wish, turns);
    } catch (error) {
      this.#options.logger.debug('recycle: could not ask for a turn', { error });
    } finally {
      this.#isAsking = false;
    }
    if (!this.#hasTurn && !isLate) return;
    this.#isTold = true;
    this.#options.onTurn(wish);
  }

  #hasNoted = false;
  #noteWait({ text }: RecycleWish, turns: number | null): void {
    if (this.#hasNoted) return;
    this.#hasNoted = true;
    this.#options.logger.info(`recycle: ${text}, waiting for its turn`, turns === null ? {} : { turns });
  }

  async #extend(): Promise<void> {
    this.#askedAtMs = monotonicMs();
    try {
      if (this.#hasTurn) await this.#options.turns.take();
    } catch (error) {
      this.#noteLapse(error);
    }
  }

  /** It lapses by its time, and another one may go a little early. */
  #noteLapse(error: unknown): void {
    this.#options.logger.debug('recycle: could not keep the turn', { error });
  }
}
