/*
 * How often something may be done under a key: a bucket that holds `burst` and fills at `perSecond`. What is full again
 * is forgotten. Beyond `mostKeys` the one that was not used for the longest is forgotten as well: whoever has so many
 * addresses is not stopped by counting them, and memory must stay bounded.
 */

export interface RateLimitOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** In ms, of a clock that never goes back. */
  readonly now: () => number;
}

interface Bucket {
  left: number;
  atMs: number;
}

const mostKeys = 10_000;
/** Fractions add up to a little less than they should. */
const almostOne = 1 - 1e-9;

export class RateLimit {
  readonly #options: RateLimitOptions;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  /** Takes one. 0: it may be done; else how many ms until the next may. */
  take(key: string): number {
    const waitMs = this.waitMs(key);
    const bucket = this.#refilled(key);
    if (waitMs === 0) bucket.left -= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    this.#forget();
    return waitMs;
  }

  /** What `take` would answer. */
  waitMs(key: string): number {
    const { left } = this.#refilled(key);
    return left >= almostOne
      ? 0
      : Math.max(Math.ceil(((almostOne - left) / this.#options.perSecond) * 1000), 1);
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #refilled(key: string): Bucket {
    const { burst, perSecond, now } = this.#options;
    const atMs = now();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return { left: burst, atMs };
    return { left: Math.min(burst, bucket.left + ((atMs - bucket.atMs) / 1000) * perSecond), atMs };
  }

  #forget(): void {
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= mostKeys && this.#refilled(key).left < this.#options.burst) return;
      this.#buckets.delete(key);
    }
  }
}
