/**
 * Keeps a worker on standby from what others take. Storage tells nobody how much room other workers have this moment, so
 * waiting is the sign: only when every look for two polls finds due work that this worker could run, no active worker has
 * room for it. Then it claims, for free slots only and never into the buffer, until a claim or a look finds nothing.
 *
 * shut ──due at every look for two polls──▶ open ──nothing due──▶ shut
 *
 * It is a fair guess: where a little work arrives all the time, each piece may be another one at each look.
 */
import type { Logger } from '../internal/logger.js';
import { monotonicMs } from './monotonic.js';

export interface StandbyGateOptions {
  readonly pollMs: number;
  /** Whether something is due that this worker could run. */
  readonly look: () => Promise<boolean>;
  readonly onOpen: () => void;
  readonly logger: Logger;
}

const pollsToWait = 2;
const looksAPoll = 4;

export class StandbyGate {
  readonly #options: StandbyGateOptions;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #dueSinceMs: number | null = null;
  #isOpen = false;

  constructor(options: StandbyGateOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  start(): void {
    const everyMs = Math.max(this.#options.pollMs / looksAPoll, 1);
    this.#timer ??= setInterval(() => void this.#look(), everyMs).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.shut();
  }

  /** Nothing was there for it. */
  shut(): void {
    this.#isOpen = false;
    this.#dueSinceMs = null;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const isDue = await this.#options.look();
      if (this.#timer === null) return;
      if (isDue) this.#noteDue(monotonicMs());
      else this.shut();
    } catch (error) {
      // Without a view nothing is known of the others.
      this.shut();
      this.#options.logger.debug('standby: could not look for work', { error });
    } finally {
      this.#isLooking = false;
    }
  }

  #noteDue(nowMs: number): void {
    this.#dueSinceMs ??= nowMs;
    if (nowMs - this.#dueSinceMs < pollsToWait * this.#options.pollMs) return;
    this.#isOpen = true;
    this.#options.onOpen();
  }
}
