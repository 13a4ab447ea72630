/**
 * Watches the main loop from another thread, by its pulse.
 *
 *   turning ──no pulse for `blockedAfterMs`──▶ blocked (told once, with the frame that blocks it)
 *      ▲                                          │ no pulse for `killAfterMs`
 *      └──a pulse (told, with how long it was)────┤
 *                                                 ▼
 *                                             given up: `onHopeless`, once
 *
 * Only time that this thread itself has seen pass counts: a process that was stopped as a whole (SIGSTOP, a suspended
 * machine) has blocked nothing, and a thread that got no turn knows nothing.
 */
import { pulseEveryMs } from './loop-pulse.js';

export interface BlockWatchOptions {
  /** Of `LoopPulse`. */
  readonly memory: SharedArrayBuffer;
  /** Ms that never go back. */
  readonly monotonic: () => number;
  /** @default 1000 */
  readonly blockedAfterMs?: number;
  /** Null: never. */
  readonly killAfterMs: number | null;
  readonly onBlocked: (forMs: number) => void;
  readonly onTurning: (blockedForMs: number) => void;
  readonly onHopeless: (blockedForMs: number) => void;
}

const lookEveryMs = 50;
/** A look that comes so much later than it was due tells of a frozen process, not of a blocked loop. */
const frozenAfterMs = 10 * lookEveryMs;

export class BlockWatch implements Disposable {
  readonly #options: BlockWatchOptions;
  readonly #counter: Int32Array;
  #timer: NodeJS.Timeout | null = null;
  #pulses = 0;
  #lookedAtMs = 0;
  /** Seen by this thread since the last pulse. */
  #stillForMs = 0;
  #isTold = false;
  #isGivenUp = false;

  constructor(options: BlockWatchOptions) {
    this.#options = options;
    this.#counter = new Int32Array(options.memory);
  }

  start(): void {
    this.#lookedAtMs = this.#options.monotonic();
    this.#pulses = Atomics.load(this.#counter, 0);
    this.#timer ??= setInterval(() => this.look(), lookEveryMs).unref();
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** The loop has not turned for long enough to say so. */
  get isBlocked(): boolean {
    return this.#isTold;
  }

  look(): void {
    const now = this.#options.monotonic();
    const sinceMs = now - this.#lookedAtMs;
    this.#lookedAtMs = now;
    const pulses = Atomics.load(this.#counter, 0);
    if (pulses !== this.#pulses) {
      this.#pulses = pulses;
      this.#noteTurning();
      return;
    }
    if (sinceMs < frozenAfterMs) this.#stillForMs += sinceMs;
    this.#judge();
  }

  #noteTurning(): void {
    if (this.#isTold) this.#options.onTurning(this.#blockedForMs);
    this.#stillForMs = 0;
    this.#isTold = false;
    this.#isGivenUp = false;
  }

  #judge(): void {
    const { blockedAfterMs = 1_000, killAfterMs, onBlocked, onHopeless } = this.#options;
    if (this.#blockedForMs < blockedAfterMs) return;
    if (!this.#isTold) {
      this.#isTold = true;
      onBlocked(this.#blockedForMs);
    }
    if (killAfterMs !== null && this.#blockedForMs >= killAfterMs && !this.#isGivenUp) {
      this.#isGivenUp = true;
      onHopeless(this.#blockedForMs);
    }
  }

  get #blockedForMs(): number {
    return Math.max(Math.round(this.#stillForMs - pulseEveryMs), 0);
  }
}
