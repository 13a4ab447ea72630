import type { Duration } from '../internal/duration.js';
import type { ControlOutcome } from '../storage/settlement.js';
import type { TransactionOption } from './control.js';
import type { Job } from './job-view.js';
import type { JobProgress } from './progress-watcher.js';

export interface ResultOptions {
  /** How long to wait; `Infinity` waits as long as it takes. @default '5m' */
  readonly timeout?: Duration | undefined;
  /** Gives up when it fires. */
  readonly signal?: AbortSignal | undefined;
}

/** A dispatched job. `Result` is what its handler returns, as JSON gives it back. */
export interface JobHandle<Result = unknown> {
  readonly id: string;
  /**
   * The job had been there before: same id, same idempotency key, or another job holds the unique key. Always so for a
   * handle made by `millrace.handle(id)`.
   */
  readonly deduplicated: boolean;
  /** The job as it is now; null once it was deleted. */
  job(): Promise<Job<Result> | null>;
  /**
   * The result of the job, as soon as it has completed: what its handler returned, as JSON gives it back.
   *
   * @throws MillraceError `result-too-large` when it was cut to be stored; `job-failed` with the failures kept, `job-cancelled`, `job-not-found` when it was deleted,
   *   `result-timeout` with the status it last saw, `aborted`, `closed`
   */
  result(options?: ResultOptions): Promise<Result>;
  /**
   * The progress of the job as its handler tells it, the stored one first, until the job has ended; how it ended is
   * told by `result`. Lines of progress are best effort, the last one of an attempt is always stored.
   *
   * @throws MillraceError `job-not-found` when it was deleted, `result-timeout`, `aborted`, `closed`
   *
   * @example
   * for await (const { done, total } of handle.progress()) console.log(`${done} of ${total}`);
   */
  progress(options?: ResultOptions): AsyncIterable<JobProgress>;
  /** Cancels the job, with `tx` inside a transaction of yours; a running one is asked to stop (`requested`). */
  cancel(options?: TransactionOption): Promise<ControlOutcome>;
}

/** What a handle needs of its client. */
export interface HandlePorts {
  job(id: string): Promise<Job | null>;
  result(id: string, options: ResultOptions | undefined): Promise<unknown>;
  progress(id: string, options: ResultOptions | undefined): AsyncIterable<JobProgress>;
  cancel(id: string, options: TransactionOption | undefined): Promise<ControlOutcome>;
}

export class DispatchedJob implements JobHandle {
  readonly id: string;
  readonly deduplicated: boolean;
  readonly #ports: HandlePorts;

  constructor(ports: HandlePorts, id: string, deduplicated: boolean) {
    this.#ports = ports;
    this.id = id;
    this.deduplicated = deduplicated;
  }

  job(): Promise<Job | null> {
    return this.#ports.job(this.id);
  }

  result(options?: ResultOptions): Promise<unknown> {
    return this.#ports.result(this.id, options);
  }

  progress(options?: ResultOptions): AsyncIterable<JobProgress> {
    return this.#ports.progress(this.id, options);
  }

  cancel(options?: TransactionOption): Promise<ControlOutcome> {
    return this.#ports.cancel(this.id, options);
  }
}
