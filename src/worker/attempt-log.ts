/**
 * Lines and progress that handlers write, stored in batches. Best effort by design: when storage is slow or away, lines
 * are dropped and counted, and neither a job nor the worker ever waits for them, but for one short wait before a job that
 * wrote lines is settled, since a line is only taken while its lease is the job's present one.
 */
import { withDeadline } from '../internal/deadline.js';
import type { Logger } from '../internal/logger.js';
import { storedText } from '../internal/stored-text.js';
import type { NewLogLine } from '../storage/job-log.js';
import type { WorkerStorage } from '../storage/worker-storage.js';

const flushEveryMs = 250;
const batchLines = 500;
/** Beyond this many unsent lines new ones are dropped. */
const maxUnsent = 5_000;
const settleWaitMs = 2_000;
const maxTextBytes = 8 * 1024;

export class AttemptLog {
  readonly #storage: Pick<WorkerStorage, 'appendLog'>;
  readonly #logger: Logger;
  #unsent: NewLogLine[] = [];
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #dropped = 0;

  constructor(storage: Pick<WorkerStorage, 'appendLog'>, logger: Logger) {
    this.#storage = storage;
    this.#logger = logger;
  }

  add(line: NewLogLine): void {
    if (this.#unsent.length >= maxUnsent) {
      this.#dropped += 1;
      return;
    }
    this.#unsent.push({ ...line, text: storedText(line.text, maxTextBytes) });
    this.#timer ??= setTimeout(() => void this.flush(), flushEveryMs).unref();
  }

  /** Sends what is there; never rejects. */
  flush(): Promise<void> {
    this.#flushing ??= this.#send().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  /** For an attempt that wrote: gives its last lines a short chance before the lease ends. */
  async flushBeforeSettle(): Promise<void> {
    try {
      await withDeadline(this.#flushing === null ? this.flush() : this.#flushing.then(() => this.flush()), {
        ms: settleWaitMs,
        name: 'log lines of a finished attempt',
      });
    } catch (error) {
      this.#logger.debug('log lines were not stored in time', { error });
    }
  }

  async #send(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#unsent.length > 0) {
      const batch = this.#unsent.slice(0, batchLines);
      this.#unsent = this.#unsent.slice(batchLines);
      try {
        await this.#storage.appendLog(batch);
      } catch (error) {
        this.#dropped += batch.length;
        this.#logger.debug('log lines were dropped', { lines: batch.length, dropped: this.#dropped, error });
        return;
      }
    }
  }
}
