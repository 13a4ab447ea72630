import { aborted } from '../internal/aborted.js';
import { type LongTimeout, setLongTimeout } from '../internal/long-timeout.js';
import type { Changes } from './changes.js';

/** A wait for what runs to end, which a later and more hasty stop can shorten. */
export class Patience {
  readonly #changes: Changes;
  #shorten: ((ms: number) => void) | null = null;

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** Resolves when nothing runs, or after so long. */
  async until(isOver: () => boolean, ms: number): Promise<void> {
    const over = new AbortController();
    let endsAtMs = Number.POSITIVE_INFINITY;
    let timer: LongTimeout | undefined;
    this.#shorten = (leftMs) => {
      if (performance.now() + leftMs >= endsAtMs) return;
      endsAtMs = performance.now() + leftMs;
      timer?.cancel();
      timer = setLongTimeout(() => over.abort(), leftMs);
    };
    this.#shorten(ms);
    using wait = aborted(over.signal);
    while (!isOver() && !over.signal.aborted) await Promise.race([this.#changes.next(), wait.fired]);
    this.#shorten = null;
    timer?.cancel();
  }

  /** A wait that is under way ends after so long, if it would last longer. */
  shorten(ms: number): void {
    this.#shorten?.(ms);
  }
}
