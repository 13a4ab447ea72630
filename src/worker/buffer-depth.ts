/**
 * How many jobs to hold ready beyond the free slots: at most what the next 200 ms will start, judged by how long
 * attempts took of late, and never more than `maxDepth`. It grows fourfold, so that a worker which has yet to learn
 * that its jobs are slow has taken few from its neighbours.
 *
 * None while jobs under limits, budgets or labels keep coming: these are never held ready, so each of them would wait for
 * all that is.
 */
const horizonMs = 200;
/** Storage's loops are fastest at 200 to 500 jobs a batch on every engine: one such is with storage, the other runs meanwhile. */
export const maxDepth = 1_000;
/** Weight of the newest attempt: about the last 16 count. */
const weight = 1 / 16;

export class BufferDepth {
  readonly #concurrency: number;
  #averageMs = Number.POSITIVE_INFINITY;
  #cap = 0;
  #isHeldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Learns from an attempt that ended. */
  observe(durationMs: number): void {
    this.#averageMs =
      this.#averageMs === Number.POSITIVE_INFINITY
        ? durationMs
        : this.#averageMs + (durationMs - this.#averageMs) * weight;
  }

  /** Called after a claim that brought as many as were asked for. */
  grow(): void {
    this.#cap = Math.min(maxDepth, Math.max(this.#concurrency, this.#cap * 4));
  }

  /** Called when a claim has brought a job that must not be held ready. */
  holdOff(nowMs: number): void {
    this.#isHeldUntilMs = nowMs + horizonMs;
  }

  target(nowMs: number): number {
    if (this.#averageMs === Number.POSITIVE_INFINITY || nowMs < this.#isHeldUntilMs) return 0;
    const startable = (this.#concurrency * horizonMs) / Math.max(this.#averageMs, 0.01);
    return Math.floor(Math.min(startable, this.#cap));
  }
}
