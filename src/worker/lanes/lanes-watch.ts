import type { LaneSizes } from '../../core/lane-sizing.js';
import type { Logger } from '../../internal/logger.js';
import { monotonicMs } from '../monotonic.js';

export interface LanesWatchOptions {
  /** For which the lanes were made. */
  readonly sizes: LaneSizes;
  /** What they would be, were they made now. */
  readonly sizesNow: () => LaneSizes;
  readonly logger: Logger;
  readonly now?: () => number;
}

const everyMs = 60_000;

/**
 * Lanes are made for the processors and the memory that a worker has at its start. Where it is given more or less of them
 * since, that is told, and stands in its registration: it applies with the next start, as after a recycle.
 */
export class LanesWatch {
  readonly #options: LanesWatchOptions;
  readonly #now: () => number;
  #lookedAtMs: number;
  #next: string | null = null;

  constructor(options: LanesWatchOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
    this.#lookedAtMs = this.#now();
  }

  /** What the next start would make, in words; null: the same. */
  get next(): string | null {
    return this.#next;
  }

  /** Called every second; looks once a minute. */
  tick(): void {
    const { sizes, sizesNow, logger } = this.#options;
    if (this.#now() - this.#lookedAtMs < everyMs) return;
    this.#lookedAtMs = this.#now();
    const now = sizesNow();
    const next = areSame(now, sizes) ? null : now.text;
    if (next === this.#next) return;
    this.#next = next;
    if (next === null) logger.info(`the machine again has what the lanes were made for: ${sizes.text}`);
    else logger.info(`${next}, from the next start on: the machine has changed since the lanes were made`);
  }
}

function areSame(one: LaneSizes, other: LaneSizes): boolean {
  return (['process', 'browser', 'inline', 'cap'] as const).every((part) => one[part] === other[part]);
}
