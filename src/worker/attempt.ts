/**
 * One attempt: a handler that runs under a lease.
 *
 *   running ──returns or throws──▶ ended (settled once)
 *      │ abort (timeout, cancel, lost lease, stop)
 *      ▼
 *   aborting ──returns or throws──▶ ended
 *      │ the grace passes
 *      ▼
 *   abandoned: settled without waiting further; the handler keeps its slot until it returns, what it returns is refused
 *
 * What the cause of the abort makes of it, when the handler then throws or is abandoned:
 * timeout → a charged failure; cancel → cancelled; stop → put back uncharged; lost lease → nothing is settled.
 * A handler that still returns a value within the grace has done its work, and that counts (but never under a lost lease).
 */
import type { RunnableJob } from '../client/job-definition.js';
import { formatDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import type { ClaimedJob } from '../storage/claimed-job.js';
import type { Settlement } from '../storage/settlement.js';

export type AbortCause = 'timed-out' | 'cancelled' | 'lease-lost' | 'stopping';

export class Attempt {
  readonly job: ClaimedJob;
  readonly definition: RunnableJob;
  /** When storage had answered the claim, monotonic ms. */
  readonly claimedAtMs: number;
  readonly startedAtMs: number;
  /** Monotonic ms at which it times out. */
  readonly deadlineAtMs: number;
  isMarkedStarted: boolean;
  abortCause: AbortCause | null = null;
  abortedAtMs: number | null = null;
  isAbandoned = false;
  hasLogged = false;
  /** Written by the handler inside a transaction of its own, which may not be committed. */
  settledWithin: Settlement | null = null;
  /** That transaction is known to be committed: nothing is to be settled any more. */
  isSettled = false;
  /** Its place among those that run. */
  slot = -1;
  #controller: AbortController | null = null;

  constructor(job: ClaimedJob, definition: RunnableJob, times: { claimedAtMs: number; startedAtMs: number }) {
    this.job = job;
    this.definition = definition;
    this.claimedAtMs = times.claimedAtMs;
    this.startedAtMs = times.startedAtMs;
    this.deadlineAtMs = times.startedAtMs + definition.timeoutMs;
    this.isMarkedStarted = job.started;
  }

  /** Made on first use: most handlers never look, and a controller costs as much as the rest of a no-op attempt. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.abortCause !== null) this.#controller.abort(reasonOf(this.abortCause, this));
    }
    return this.#controller.signal;
  }

  /** The first cause wins, except that a lost lease overrides every other: nothing may be settled any more. */
  abort(cause: AbortCause, nowMs: number): boolean {
    if (this.abortCause !== null) {
      if (cause === 'lease-lost') this.abortCause = cause;
      return false;
    }
    this.abortCause = cause;
    this.abortedAtMs = nowMs;
    this.#controller?.abort(reasonOf(cause, this));
    return true;
  }
}

function reasonOf(cause: AbortCause, attempt: Attempt): MillraceError {
  const { id, name } = attempt.job;
  const details = { jobId: id, name, cause };
  switch (cause) {
    case 'timed-out': {
      const ms = Math.round(attempt.deadlineAtMs - attempt.startedAtMs);
      return new MillraceError(
        'attempt-timed-out',
        `the attempt ran longer than its timeout of ${formatDuration(ms)}`,
        { details },
      );
    }
    case 'cancelled':
      return new MillraceError('job-cancelled', 'the job was called off while it ran', { details });
    case 'lease-lost':
      return new MillraceError(
        'lease-lost',
        'this worker no longer holds the lease of the job; whatever it returns is refused',
        { details },
      );
    case 'stopping':
      return new MillraceError(
        'worker-stopping',
        'the worker stops and its deadline has come; the job goes back uncharged',
        { details },
      );
  }
}
