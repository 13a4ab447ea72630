import type { Logger } from '../internal/logger.js';
import { monotonicMs } from './monotonic.js';

/** A link that stays lost is told again so often. */
const toldEveryMs = 10_000;

/** Tells of a lost link and of its return: once each, and now and then in between. */
export class LinkLoss {
  readonly #logger: Logger;
  readonly #workerId: () => string;
  #toldAtMs: number | null = null;

  constructor(logger: Logger, workerId: () => string) {
    this.#logger = logger;
    this.#workerId = workerId;
  }

  get isLost(): boolean {
    return this.#toldAtMs !== null;
  }

  note(error: unknown, waitMs: number): void {
    const nowMs = monotonicMs();
    if (this.#toldAtMs !== null && nowMs - this.#toldAtMs < toldEveryMs) return;
    this.#toldAtMs = nowMs;
    const text = error instanceof Error ? error.message : String(error);
    const worker = this.#workerId();
    this.#logger.warn(`link: lost (${text}), reconnecting in ${(waitMs / 1_000).toFixed(1)} s`, { worker });
  }

  /** False: it was not lost. */
  noteReturn(): boolean {
    if (this.#toldAtMs === null) return false;
    this.#toldAtMs = null;
    this.#logger.info('link: storage answers again', { worker: this.#workerId() });
    return true;
  }
}
