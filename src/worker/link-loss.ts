import type { Logger } from '../internal/logger.js';
import { monotonicMs } from './monotonic.js';

/** A link that stays lost is told again so often. */
const toldEveryMs = 10_000;

/** What a worker may lose: storage, its own or that of the hub, or the connection to the hub. */
export type LinkPart = 'storage' | 'hub';

/** Tells of a lost link and of its return: once each, and now and then in between. It is lost while any part of it is. */
export class LinkLoss {
  readonly #logger: Logger;
  readonly #workerId: () => string;
  readonly #lost = new Set<LinkPart>();
  #toldAtMs: number | null = null;

  constructor(logger: Logger, workerId: () => string) {
    this.#logger = logger;
    this.#workerId = workerId;
  }

  get isLost(): boolean {
    return this.#lost.size > 0;
  }

  note(part: LinkPart, text: string, waitMs: number): void {
    const nowMs = monotonicMs();
    this.#lost.add(part);
    if (this.#toldAtMs !== null && nowMs - this.#toldAtMs < toldEveryMs) return;
    this.#toldAtMs = nowMs;
    const worker = this.#workerId();
    this.#logger.warn(`link: lost (${text}), reconnecting in ${(waitMs / 1_000).toFixed(1)} s`, { worker });
  }

  /** Whether the whole link is there again, which it was not. */
  noteReturn(part: LinkPart): boolean {
    if (!this.#lost.delete(part) || this.#lost.size > 0) return false;
    this.#toldAtMs = null;
    this.#logger.info(`link: ${part === 'hub' ? 'the hub' : 'storage'} answers again`, {
      worker: this.#workerId(),
    });
    return true;
  }
}
