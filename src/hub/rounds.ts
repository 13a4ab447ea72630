/**
 * Things a hub does again and again, each by itself: one that fails or hangs keeps no other from its turn. A failure is
 * told once, and again when it is over.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describeFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';

export interface RoundState {
  readonly name: string;
  readonly everyMs: number;
  /** Since it last succeeded; null: it never did. */
  readonly sinceMs: number | null;
  readonly failures: number;
}

interface Round {
  readonly name: string;
  readonly everyMs: number;
  doneAtMs: number | null;
  failures: number;
}

export class Rounds {
  readonly #logger: Logger;
  readonly #stopping = new AbortController();
  readonly #rounds: Round[] = [];
  readonly #running: Promise<void>[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get states(): RoundState[] {
    const nowMs = performance.now();
    return this.#rounds.map(({ name, everyMs, doneAtMs, failures }) => ({
      name,
      everyMs,
      failures,
      sinceMs: doneAtMs === null ? null : Math.round(nowMs - doneAtMs),
    }));
  }

  add(name: string, everyMs: number, run: () => Promise<void>): void {
    const round: Round = { name, everyMs, doneAtMs: null, failures: 0 };
    this.#rounds.push(round);
    this.#running.push(this.#repeat(round, run));
  }

  /** Resolves once none is under way; each has the deadlines of storage. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  async #repeat(round: Round, run: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await run();
        if (round.failures > 0)
          this.#logger.info(`hub: ${round.name} works again`, { failures: round.failures });
        round.failures = 0;
        round.doneAtMs = performance.now();
      } catch (error) {
        if (round.failures === 0 && !signal.aborted) {
          this.#logger.warn(`hub: ${round.name} failed, trying again`, {
            error: describeFailure(error).message,
          });
        }
        round.failures += 1;
      }
      const waitMs = round.everyMs * (0.9 + 0.2 * Math.random());
      await delay(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
