/** Others hold the lock for a few ms at most: as long it is asked for again and again, from turn to turn of the loop. */
const spinMs = 2;
/** Then a pause of 1 to so many ms, after which it is asked for in quick succession again. */
const longestPauseMs = 4;
const spinAfterPauseMs = 0.4;

/** The waiting between two tries for SQLite's write lock. It has no queue, so who asks seldom may never find it free. */
export class Pause {
  #spinUntil: number | null = null;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `next` once, a moment later. */
  wait(next: () => void): void {
    const now = performance.now();
    this.#spinUntil ??= now + spinMs;
    if (now < this.#spinUntil) {
      this.#immediate = setImmediate(next);
      return;
    }
    this.#timer = setTimeout(
      () => {
        this.#spinUntil = performance.now() + spinAfterPauseMs;
        next();
      },
      1 + Math.random() * (longestPauseMs - 1),
    );
  }

  /** The lock was had: the next waiting begins anew. */
  reset(): void {
    this.#spinUntil = null;
  }

  cancel(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
    this.reset();
  }
}
