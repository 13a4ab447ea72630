/*
 * The way of dispatches into storage: concurrent ones share the next statement, a lone one goes at once.
 *
 *   idle ──add──▶ writing ──written──▶ idle, or the next batch of what came in the meantime
 *                    │ failed, retryable ──▶ pausing (full jitter) ──▶ writing again, the same ids, newer ones with it
 *                    │ failed for good ──▶ each job of the batch alone, so that a bad one fails alone
 *
 * At most one statement is on its way. Repeating is safe, since storage knows an id that it has written. No timer is set
 * for a dispatch: one guard per line looks after all that wait, and rejects what is past its deadline (its fate is then
 * unknown, and the error says so). What is rejected by the guard while a statement is on its way may still be written.
 */
import { formatDuration } from '../internal/duration.js';
import { isMillraceError, MillraceError } from '../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';
import type { Storage } from '../storage/storage.js';
import { closedError } from './storage-access.js';

/** Where a line leads: storage, opened on first use. */
export interface EnqueueAccess {
  readonly current: Pick<Storage, 'enqueue'> | null;
  readonly isClosed: boolean;
  get(): Promise<Pick<Storage, 'enqueue'>>;
}

/** One dispatch on its way. */
export interface Waiting {
  readonly job: NewJob;
  /** By `performance.now()`. */
  readonly deadlineAt: number;
  readonly resolve: (outcome: EnqueueOutcome) => void;
  readonly reject: (error: unknown) => void;
  /** A statement with it has failed, and may have written it. */
  wasSent: boolean;
}

/** The seam takes so many in a call. */
const largestBatch = 1000;
/** A process that only dispatches to a local file never leaves its microtasks: it turns the event loop at least so often. */
const turnEveryMs = 10;
const pauseBaseMs = 20;
const pauseMaxMs = 1000;
const longestGuardMs = 500;

export class EnqueueLine {
  readonly #access: EnqueueAccess;
  readonly #guardMs: number;
  readonly #timeoutMs: number;
  readonly #random: () => number;
  #queue: Waiting[] = [];
  #alone: Waiting[] = [];
  #batch: readonly Waiting[] | null = null;
  #isPausing = false;
  #isShared = false;
  #failures = 0;
  #lastError: unknown = null;
  #turnedAt = 0;
  #guard: NodeJS.Timeout | null = null;
  #onIdle: (() => void)[] = [];

  constructor(access: EnqueueAccess, options: { readonly timeoutMs: number; readonly random: () => number }) {
    this.#access = access;
    this.#timeoutMs = options.timeoutMs;
    this.#random = options.random;
    this.#guardMs = Math.min(longestGuardMs, Math.ceil(options.timeoutMs / 4));
  }

  /** When a dispatch that starts now is given up. */
  deadline(): number {
    return performance.now() + this.#timeoutMs;
  }

  add(waiting: Waiting): void {
    if (this.#batch === null && !this.#isPausing) {
      this.#write([waiting]);
      return;
    }
    this.#queue.push(waiting);
  }

  /** Resolves when nothing waits any more, whatever became of it. */
  idle(): Promise<void> {
    if (this.#batch === null && !this.#isPausing) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #write(batch: readonly Waiting[]): void {
    this.#batch = batch;
    this.#guard ??= this.#armGuard();
    const jobs = batch.length === 1 ? [(batch[0] as Waiting).job] : batch.map(({ job }) => job);
    this.#enqueue(jobs).then(this.#written, this.#failed);
  }

  #enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const storage = this.#access.current;
    if (storage === null) return this.#access.get().then((opened) => opened.enqueue(jobs));
    try {
      return storage.enqueue(jobs);
    } catch (error) {
      // A storage that throws instead of rejecting must not leave the line waiting for it.
      return Promise.reject(error);
    }
  }

  readonly #written = (outcomes: readonly EnqueueOutcome[]): void => {
    const batch = this.#batch as readonly Waiting[];
    this.#failures = 0;
    this.#isShared = batch.length > 1;
    for (let index = 0; index < batch.length; index += 1) {
      const waiting = batch[index] as Waiting;
      const outcome = outcomes[index];
      if (outcome === undefined) waiting.reject(missingOutcome(batch.length, outcomes.length));
      else waiting.resolve(outcome);
    }
    this.#goOn();
  };

  readonly #failed = (error: unknown): void => {
    const batch = this.#batch as readonly Waiting[];
    this.#lastError = error;
    for (const waiting of batch) waiting.wasSent = true;
    if (isMillraceError(error) && error.retryable) {
      this.#failures += 1;
      this.#queue = [...batch, ...this.#queue];
      this.#batch = null;
      this.#isPausing = true;
      this.#rejectExpired();
      const mostMs = Math.min(pauseMaxMs, pauseBaseMs * 2 ** Math.min(this.#failures, 10));
      setTimeout(this.#next, this.#random() * mostMs);
      return;
    }
    const isOfOneJob = batch.length > 1 && this.#access.current !== null;
    if (isOfOneJob) this.#alone.push(...batch);
    else for (const waiting of batch) waiting.reject(error);
    this.#goOn();
  };

  /** After a shared batch those it answers get their turn first, so that their next dispatches share again. */
  #goOn(): void {
    const now = performance.now();
    if (now - this.#turnedAt > turnEveryMs) {
      this.#isPausing = true;
      this.#batch = null;
      setImmediate(() => {
        this.#turnedAt = performance.now();
        this.#next();
      });
      return;
    }
    if (!this.#isShared) {
      this.#next();
      return;
    }
    this.#isPausing = true;
    this.#batch = null;
    queueMicrotask(this.#afterAnswers);
  }

  readonly #afterAnswers = (): void => queueMicrotask(() => queueMicrotask(this.#next));

  readonly #next = (): void => {
    this.#isPausing = false;
    this.#batch = null;
    const single = this.#alone.shift();
    if (single !== undefined) this.#write([single]);
    else if (this.#queue.length > 0) this.#write(this.#queue.splice(0, largestBatch));
    else this.#becomeIdle();
  };

  #becomeIdle(): void {
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #armGuard(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#guard = null;
      this.#rejectExpired();
      if (this.#batch !== null || this.#isPausing) this.#guard = this.#armGuard();
    }, this.#guardMs).unref();
  }

  /** Those of the batch on its way stay in it: its answer finds them already told. */
  #rejectExpired(): void {
    const now = performance.now();
    for (const waiting of this.#batch ?? []) if (waiting.deadlineAt <= now) this.#expire(waiting);
    const keep = (waiting: Waiting): boolean => {
      if (waiting.deadlineAt > now) return true;
      this.#expire(waiting);
      return false;
    };
    this.#queue = this.#queue.filter(keep);
    this.#alone = this.#alone.filter(keep);
  }

  #expire({ job, reject }: Waiting): void {
    if (this.#access.isClosed) {
      reject(closedError());
      return;
    }
    const why = this.#failures === 0 ? 'the database has not answered' : messageOf(this.#lastError);
    reject(
      new MillraceError(
        'deadline-exceeded',
        `dispatch of job "${job.name}" (${job.id}): not confirmed within ${formatDuration(this.#timeoutMs)}: ${why}. ` +
          'It may have been written; dispatch it again with this id to be sure of one',
        {
          details: { id: job.id, name: job.name },
          cause: this.#failures === 0 ? undefined : this.#lastError,
        },
      ),
    );
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function missingOutcome(sent: number, got: number): MillraceError {
  return new MillraceError('internal', `storage answered ${got} outcomes for ${sent} jobs`);
}
