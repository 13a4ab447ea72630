import { monotonicMs } from '../../monotonic.js';

const looksPerSilence = 8;
const longestLookMs = 5_000;

/**
 * Tells when nothing was heard for so long. A process that was stopped for a while finds itself late first, and what was
 * sent meanwhile waits to be read: a look that is late itself judges nothing.
 */
export class SilenceWatch implements Disposable {
  readonly #silenceMs: number;
  readonly #timer: NodeJS.Timeout;
  #heardAtMs = monotonicMs();

  constructor(silenceMs: number, onSilent: () => void) {
    this.#silenceMs = silenceMs;
    const everyMs = Math.min(Math.max(silenceMs / looksPerSilence, 10), longestLookMs);
    let lookedAtMs = monotonicMs();
    this.#timer = setInterval(() => {
      const now = monotonicMs();
      const isLate = now - lookedAtMs > 3 * everyMs;
      lookedAtMs = now;
      if (!isLate && now - this.#heardAtMs >= this.#silenceMs) onSilent();
    }, everyMs);
  }

  noteHeard(): void {
    this.#heardAtMs = monotonicMs();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
