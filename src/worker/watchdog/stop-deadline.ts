/**
 * The end of the patience after a signal, kept beside the main loop, which keeps it itself as long as it turns.
 *
 *   quiet ──a signal──▶ patient (for the stop timeout) ──a second signal──▶ impatient (a moment)
 *                          │ over and the loop is blocked, or well over         │ the same
 *                          ▼                                                    ▼
 *                       too late, told once with the signal ◀───────────────────┘
 *
 * A loop that turns puts its jobs back by itself; only where that did not end the process in its time is it ended here.
 */
import { SignalEcho } from '../../internal/signal-echo.js';
import type { StopSignal } from './signal-ear.js';

export interface StopTimes {
  /** What runs may take to end by itself. */
  readonly timeoutMs: number;
  /** From the signal to the end of the process, at most, while its loop turns. */
  readonly withinMs: number;
}

export interface StopDeadlineOptions extends StopTimes {
  readonly monotonic: () => number;
  /** The loop does not turn. */
  readonly isBlocked: () => boolean;
  readonly onTooLate: (signal: StopSignal, sinceMs: number) => void;
}

const lookEveryMs = 100;
/** After a second signal nothing is waited for but a loop that hears it. */
const impatientMs = 500;
const marginMs = 5_000;

export class StopDeadline implements Disposable {
  readonly #options: StopDeadlineOptions;
  readonly #echo = new SignalEcho();
  #timer: NodeJS.Timeout | null = null;
  #last: { readonly signal: StopSignal; readonly atMs: number } | null = null;
  #whenBlockedMs = Number.POSITIVE_INFINITY;
  #anywayMs = Number.POSITIVE_INFINITY;

  constructor(options: StopDeadlineOptions) {
    this.#options = options;
  }

  hear(signal: StopSignal): void {
    if (this.#echo.isEcho()) return;
    const { monotonic, timeoutMs, withinMs } = this.#options;
    const now = monotonic();
    const isFirst = this.#last === null;
    this.#last = { signal, atMs: now };
    this.#whenBlockedMs = now + (isFirst ? timeoutMs : impatientMs);
    this.#anywayMs = now + marginMs + (isFirst ? withinMs : withinMs - timeoutMs);
    this.#timer ??= setInterval(() => this.look(), lookEveryMs).unref();
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  look(): void {
    const { monotonic, isBlocked, onTooLate } = this.#options;
    const now = monotonic();
    if (this.#last === null || now < this.#whenBlockedMs) return;
    if (now < this.#anywayMs && !isBlocked()) return;
    const { signal, atMs } = this.#last;
    this[Symbol.dispose]();
    this.#anywayMs = Number.POSITIVE_INFINITY;
    this.#whenBlockedMs = Number.POSITIVE_INFINITY;
    onTooLate(signal, Math.round(now - atMs));
  }
}
