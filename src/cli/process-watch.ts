import type { Logger } from '../internal/logger.js';
import { SignalEcho } from '../internal/signal-echo.js';

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;
export type StopSignal = keyof typeof signalNumbers;

export interface ProcessWatchOptions {
  readonly logger: Logger;
  /** Each signal, but for echoes of the one before; also when the program that started this process is gone. */
  readonly onSignal: (signal: StopSignal) => void;
  /** An exception escaped all that could have caught it. */
  readonly onCrash: () => void;
}

/** Tells a long-running command when it is to end. */
export class ProcessWatch implements Disposable {
  hasCrashed = false;
  /** 128 + the number of the last signal, once there was more than one. */
  forcedCode: number | null = null;
  /** How many have come. */
  signals = 0;
  readonly #options: ProcessWatchOptions;
  readonly #echo = new SignalEcho();

  constructor(options: ProcessWatchOptions) {
    this.#options = options;
    process.on('SIGINT', this.#onSignal).on('SIGTERM', this.#onSignal);
    process.on('unhandledRejection', this.#onRejection).on('uncaughtException', this.#onException);
    // There is a channel only where a program started it over one.
    process.on('disconnect', this.#onDisconnect);
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onSignal).off('SIGTERM', this.#onSignal);
    process.off('unhandledRejection', this.#onRejection).off('uncaughtException', this.#onException);
    process.off('disconnect', this.#onDisconnect);
  }

  readonly #onSignal = (signal: StopSignal): void => {
    if (this.#echo.isEcho()) return;
    this.signals += 1;
    if (this.signals > 1) this.forcedCode = 128 + signalNumbers[signal];
    this.#options.onSignal(signal);
  };

  readonly #onDisconnect = (): void => {
    this.#options.logger.info('the program that started this one is gone: ending too');
    this.#onSignal('SIGTERM');
  };

  readonly #onRejection = (error: unknown): void => {
    this.#options.logger.error('a promise was rejected and nobody listened', { error });
  };

  readonly #onException = (error: unknown): void => {
    this.#options.logger.error('an exception escaped: ending', { error });
    this.hasCrashed = true;
    this.#options.onCrash();
  };
}
