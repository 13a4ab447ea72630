/**
 * The pulse of the main loop: a counter in shared memory that only a turning loop moves, so that another thread can tell
 * a loop that is blocked from one that has nothing to do. The loop measures its own lateness by the same timer.
 */
import { monotonicMs } from '../monotonic.js';

/** Between two pulses. A quarter of it would be no finer in practice and wake an idle process more often. */
export const pulseEveryMs = 100;

export class LoopPulse implements Disposable {
  readonly memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #counter = new Int32Array(this.memory);
  readonly #windowMs: number;
  #timer: NodeJS.Timeout | null = null;
  #beatAtMs = monotonicMs();
  #windowFromMs = monotonicMs();
  /** Of the window that runs, and of the one before. */
  #peaksMs: [number, number] = [0, 0];

  /** @param windowMs the time that a peak is remembered, and at most twice that */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  start(): void {
    this.#beatAtMs = monotonicMs();
    this.#timer ??= setInterval(() => this.#beat(), pulseEveryMs).unref();
  }

  /** The longest that the loop was late of late, ms; also one that is late right now. */
  get peakLagMs(): number {
    return Math.round(Math.max(...this.#peaksMs, this.#lagMs()));
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #beat(): void {
    const now = monotonicMs();
    const [running, before] = this.#peaksMs;
    const peakMs = Math.max(running, this.#lagMs());
    if (now - this.#windowFromMs < this.#windowMs) this.#peaksMs = [peakMs, before];
    else {
      this.#peaksMs = [0, peakMs];
      this.#windowFromMs = now;
    }
    this.#beatAtMs = now;
    Atomics.add(this.#counter, 0, 1);
  }

  #lagMs(): number {
    return Math.max(monotonicMs() - this.#beatAtMs - pulseEveryMs, 0);
  }
}
