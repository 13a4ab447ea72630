/** Told again after so long, then after twice that, and so on. */
const firstPauseMs = 10_000;
const longestPauseMs = 60_000;

/**
 * When to tell of something that is tried again and again and keeps failing: at the first failure and at the first of each
 * kind, then every 10 s … 1 min, and once when it works again. A log that has a line for every try hides what else happens.
 */
export class OutageLog {
  readonly #monotonicMs: () => number;
  readonly #kinds = new Set<string>();
  #failures = 0;
  #tellAgainAtMs = 0;
  #pauseMs = firstPauseMs;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** How often it failed since it last worked. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Notes a failure; true: it is to be told.
   *
   * @param kind of which there are few, as codes of errors are
   */
  failed(kind = ''): boolean {
    const nowMs = this.#monotonicMs();
    const isFirst = this.#failures === 0;
    const isNew = !this.#kinds.has(kind);
    this.#failures += 1;
    this.#kinds.add(kind);
    if (!isNew && nowMs < this.#tellAgainAtMs) return false;
    if (!isFirst && !isNew) this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
    this.#tellAgainAtMs = nowMs + this.#pauseMs;
    return true;
  }

  /** Notes that it worked; how often it had failed before, 0 as a rule. */
  worked(): number {
    const failures = this.#failures;
    if (failures === 0) return 0;
    this.#failures = 0;
    this.#pauseMs = firstPauseMs;
    this.#kinds.clear();
    return failures;
  }
}
