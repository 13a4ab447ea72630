import type { Logger } from '../internal/logger.js';
import { SignalEcho } from '../internal/signal-echo.js';
import type { Worker, WorkerStopOptions } from '../worker/worker.js';

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;
type StopSignal = keyof typeof signalNumbers;

/** After a second signal handlers have this long to end by their own; then they are left behind. */
const abortGraceMs = 250;

/**
 * Stops the worker of this process: by the first TERM or INT in its own time, by the second at once; a third one ends
 * the process. An exception that escaped every handler stops it too, since nobody knows what it left half done; a
 * rejected promise that a handler forgot is only logged.
 */
export class StopWatch implements Disposable {
  /** Resolves when the worker was told to stop. */
  readonly asked: Promise<void>;
  isAsked = false;
  /** The signal that ended the patience; null while there was none. */
  forcedBy: number | null = null;
  hasCrashed = false;
  /** How long what runs may take to end. */
  patience: WorkerStopOptions = {};
  readonly #worker: Worker;
  readonly #logger: Logger;
  #tellAsked: () => void = () => undefined;
  #signals = 0;
  readonly #echo = new SignalEcho();

  constructor(worker: Worker, logger: Logger) {
    this.#worker = worker;
    this.#logger = logger;
    this.asked = new Promise((resolve) => {
      this.#tellAsked = resolve;
    });
    process.on('SIGINT', this.#onSignal).on('SIGTERM', this.#onSignal);
    process.on('unhandledRejection', this.#onRejection).on('uncaughtException', this.#onException);
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onSignal).off('SIGTERM', this.#onSignal);
    process.off('unhandledRejection', this.#onRejection).off('uncaughtException', this.#onException);
  }

  readonly #onSignal = (signal: StopSignal): void => {
    if (this.#echo.isEcho()) return;
    this.#signals += 1;
    const number = signalNumbers[signal];
    if (this.#signals > 2) process.exit(128 + number);
    if (this.#signals === 2) {
      this.forcedBy = number;
      this.#logger.warn(`${signal} again: aborting what runs`);
      const again = { deadlineMs: 0, reason: 'second-signal', owner: signal } as const;
      this.#stop(again);
      setTimeout(() => this.#stop(again), abortGraceMs).unref();
      return;
    }
    this.#logger.info(`${signal}: finishing what runs; a second signal aborts it`);
    this.#stop({ reason: 'signal', owner: signal });
  };

  readonly #onRejection = (error: unknown): void => {
    this.#logger.error('a promise was rejected and nobody listened; a handler forgot to await it', { error });
  };

  readonly #onException = (error: unknown): void => {
    this.#logger.error('an exception escaped every handler; finishing what runs and ending', { error });
    this.hasCrashed = true;
    this.#stop({ reason: 'crash', owner: 'an exception' });
  };

  /** Ends the worker when all that runs has ended by itself, however long that takes. */
  drain(reason: string): void {
    this.#logger.info(`drain: ${reason}, finishing what runs`);
    this.patience = { deadlineMs: Number.POSITIVE_INFINITY, reason: 'pool-shrink', owner: reason };
    this.#stop(this.patience);
  }

  #stop(options: WorkerStopOptions): void {
    this.isAsked = true;
    this.#tellAsked();
    this.#worker.stop(options).catch((error: unknown) => {
      this.#logger.error('stopping failed', { error });
    });
  }
}
