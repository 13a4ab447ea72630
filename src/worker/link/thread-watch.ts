import { writeSync } from 'node:fs';
import { createLineLogger, type LogFields, type Logger } from '../../internal/logger.js';
import { Watchdog } from '../watchdog/watchdog.js';
import type { WatchSettings } from './link-messages.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** In a thread `process.stderr` has no descriptor, and goes through main. */
const stderrFd = 2;

/** What every link thread has beside its link: a log that waits for nobody, and an eye on the main loop. */
export class ThreadWatch implements Disposable {
  readonly logger: Logger;
  readonly #watchdog: Watchdog;
  #running = 0;

  /** @param post hands a line to the main loop, which logs it; used where stderr is not ours */
  constructor(
    { owned, memory }: WatchSettings,
    post: (level: Level, message: string, fields: LogFields) => void,
  ) {
    this.logger =
      owned === null
        ? postingLogger(post)
        : // No line waits for a main loop that is blocked.
          createLineLogger({ ...owned.log, write: (line) => writeSync(stderrFd, `${line}\n`) });
    this.#watchdog = new Watchdog({ memory, owned, logger: this.logger, running: () => this.#running });
    this.#watchdog.start();
  }

  noteRunning(running: number): void {
    this.#running = running;
  }

  [Symbol.dispose](): void {
    this.#watchdog[Symbol.dispose]();
  }
}

function postingLogger(post: (level: Level, message: string, fields: LogFields) => void): Logger {
  const log =
    (level: Level) =>
    (message: string, fields: LogFields = {}) => {
      const plain = Object.fromEntries(
        Object.entries(fields).map(([key, value]) => [
          key,
          typeof value === 'object' ? String(value) : value,
        ]),
      );
      post(level, message, plain);
    };
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
}
