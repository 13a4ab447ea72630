import type { Logger } from '../internal/logger.js';
import type { SyncUserTransaction, UserTransaction } from '../storage/transaction/user-transaction.js';
import type { JobDefinition } from './define-job.js';
import type { DispatchArguments } from './dispatch-options.js';
import type { JobFiles } from './job-files.js';
import type { JobHandle } from './job-handle.js';
import type { Jsonified } from './jsonified.js';

/** What a handler is given. The same object on every lane and link, and under `runNow`. */
export interface JobContext<Input> {
  /** Validated and, where the schema transforms, transformed. */
  readonly input: Input;
  /** Fires when the attempt must end: timeout, cancel, lost lease, or the worker's stop deadline. `signal.reason` is a `MillraceError`. */
  readonly signal: AbortSignal;
  /** 1 for the first attempt; put-backs, snoozes and deaths are not counted. */
  readonly attempt: number;
  readonly job: JobFacts;
  /** Writes to the job's own log (best effort, at most 1,000 lines and 256 KB a job) and to the worker's. */
  readonly log: Logger;
  /** Files that are kept with this job. */
  readonly files: JobFiles;
  /** Says how far it is; at most one a second is stored, the last one always. */
  progress(done: number, total?: number, note?: string): void;
  /** Extends the lease now and says whether it is still held, as far as is known: true while the database does not answer. Never rejects. */
  heartbeat(): Promise<boolean>;
  /** Dispatches a further job. Not undone when this attempt fails. */
  dispatch<I, O>(
    job: JobDefinition<string, I, unknown, O> | string,
    ...given: DispatchArguments<NoInfer<I>>
  ): Promise<JobHandle<Jsonified<O>>>;
  /**
   * Completes this job with `value` as its result, inside a transaction of yours: both or neither. Call it last, commit,
   * then return; what the handler returns or throws after the commit changes nothing. Rolled back, the attempt ends as
   * if this had not been called.
   *
   * @throws MillraceError `lease-lost` when the job is no longer this worker's to end: let it roll your transaction back;
   *   `result-invalid`, `tx-invalid`, `tx-aborted`
   */
  settleIn(tx: UserTransaction, value?: unknown): Promise<void>;
  /** `settleIn` for a better-sqlite3 database in a transaction, or a transaction of Drizzle on it: done when it returns. */
  settleInSync(tx: SyncUserTransaction, value?: unknown): void;
  /** Ends the attempt by `return snooze('5m')`: due again later, not charged. */
  snooze(delay: import('../internal/duration.js').Duration): Outcome;
  /** Ends the attempt by `return cancel('why')`: the job becomes cancelled. */
  cancel(reason?: string): Outcome;
}

export interface JobFacts {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly createdAt: Date;
  readonly dueAt: Date;
}

import type { Outcome } from './outcomes.js';
