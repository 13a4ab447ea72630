/**
 * Runs one attempt from its claimed row to the settlement that ends its lease. Knows nothing of where the row came from
 * or where the settlement goes; `runNow` and every lane use it.
 */
import { decodeInput, encodeOutput } from '../client/codec.js';
import { versionOf } from '../client/job-definition.js';
import { isNonRetriable, isOutcome, isRetryAfter } from '../client/outcomes.js';
import { type AttemptOutcome, decideAfterAttempt } from '../core/after-attempt.js';
import { parseDuration } from '../internal/duration.js';
import {
  type AttemptFailure,
  appendFailure,
  describeFailure,
  type FailureRecord,
} from '../internal/failure.js';
import { storedText } from '../internal/stored-text.js';
import type { Settlement } from '../storage/settlement.js';
import type { Attempt } from './attempt.js';
import { AttemptContext, type ContextPorts } from './attempt-context.js';
import type { LaneContext } from './lanes/lane.js';

const maxReasonBytes = 8 * 1024;

export interface ExecutorOptions {
  readonly ports: ContextPorts;
  readonly workerId: string;
  readonly maxPayloadBytes: number;
  readonly random: () => number;
  /** Best knowledge of the database's clock, epoch ms. */
  readonly now: () => number;
}

/** How the handler ended, with what is needed to write it down. */
interface Ending {
  readonly outcome: AttemptOutcome;
  readonly result: string | null;
  readonly failure: FailureRecord | null;
}

/** Between two tries to find a worker with newer code: 5 to 10 s, a fraction of what a rolling deploy takes. */
const newerDelayMs = 5_000;

export class Executor {
  readonly #options: ExecutorOptions;
  /** Names and versions that were warned of. */
  readonly #newerSeen = new Set<string>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Never rejects. Null: the lease is lost and nothing is to be settled. */
  async run(attempt: Attempt, added?: LaneContext): Promise<Settlement | null> {
    const known = versionOf(attempt.definition);
    if (attempt.job.version > known) return this.#putBackNewer(attempt, known);
    const ending = await this.#runHandler(attempt, added);
    const settled =
      attempt.settledWithin === null ? null : await this.settledWithin(attempt, ending.failure !== null);
    return settled ?? this.settlementFor(attempt, ending);
  }

  /** What the handler wrote in a transaction of its own, when that was committed; the attempt then knows it too. */
  async settledWithin(attempt: Attempt, hasFailed: boolean): Promise<Settlement | null> {
    if (attempt.settledWithin === null) return null;
    const { ports } = this.#options;
    if (!attempt.isSettled) {
      try {
        attempt.isSettled = await ports.wasSettled(attempt, hasFailed);
      } catch (error) {
        // The ordinary settlement is sent, and repeated until storage has answered: it can't undo what was committed.
        ports.logger.debug('could not read what became of a settleIn', { job: attempt.job.id, error });
      }
    }
    return attempt.isSettled ? attempt.settledWithin : null;
  }

  /** A deploy has begun elsewhere: the job waits, uncharged, for a worker with the newer code. */
  #putBackNewer({ job }: Attempt, known: number): Settlement {
    const { id, token, name, version } = job;
    const { random, ports, workerId } = this.#options;
    if (!this.#newerSeen.has(`${name} ${version}`)) {
      this.#newerSeen.add(`${name} ${version}`);
      ports.logger.warn(
        `jobs of name "${name}" carry inputs of version ${version}, this code knows ${known}: they are put back for workers with newer code`,
        { job: id, name },
      );
    }
    const reason = `payload-newer: its input has version ${version}, the code of worker ${workerId} knows ${known}`;
    return { id, token, kind: 'put-back', delayMs: Math.round(newerDelayMs * (1 + random())), reason };
  }

  /** The settlement of an attempt that was aborted and whose handler did not end within the grace. */
  abandon(attempt: Attempt): Settlement | null {
    return this.settlementFor(attempt, endingOfAbort(attempt, attempt.signal.reason));
  }

  async #runHandler(attempt: Attempt, added?: LaneContext): Promise<Ending> {
    const { job, definition } = attempt;
    let context: AttemptContext | null = null;
    try {
      const decoded = decodeInput(definition, job.payload, job.version);
      const input = decoded instanceof Promise ? await decoded : decoded;
      context = new AttemptContext(attempt, input, this.#options.ports);
      // As they are: a member that is not there may say so when it is read.
      if (added !== undefined) Object.defineProperties(context, Object.getOwnPropertyDescriptors(added));
      const value = await definition.run(context as never);
      if (isOutcome(value)) return endingOfOutcome(value);
      const encoded = encodeOutput(definition, value, this.#options.maxPayloadBytes);
      const { text, note } = encoded instanceof Promise ? await encoded : encoded;
      if (note !== undefined) context.log.warn(`the result was changed to be stored: ${note}`);
      return { outcome: { kind: 'value' }, result: text, failure: null };
    } catch (error) {
      return attempt.abortCause === null ? endingOfThrow(error) : endingOfAbort(attempt, error);
    } finally {
      context?.finish();
    }
  }

  settlementFor(attempt: Attempt, ending: Ending): Settlement | null {
    if (attempt.abortCause === 'lease-lost') return null;
    const { id, token } = attempt.job;
    const decision = decideAfterAttempt(
      {
        attempts: attempt.job.attempts,
        maxAttempts: attempt.job.maxAttempts,
        backoff: attempt.definition.backoff,
      },
      ending.outcome,
      this.#options.random,
    );
    switch (decision.kind) {
      case 'completed':
        return { id, token, kind: 'completed', result: ending.result };
      case 'retry':
        return { id, token, kind: 'retry', delayMs: decision.delayMs, errors: this.#errors(attempt, ending) };
      case 'buried': {
        const reason =
          ending.outcome.kind === 'failed' && ending.outcome.nonRetriable === true
            ? 'non-retriable'
            : 'attempts-exhausted';
        return { id, token, kind: 'buried', reason, errors: this.#errors(attempt, ending) };
      }
      case 'snoozed':
        return { id, token, kind: 'snoozed', delayMs: decision.delayMs };
      case 'cancelled':
        return {
          id,
          token,
          kind: 'cancelled',
          reason: ending.outcome.kind === 'cancelled' ? (ending.outcome.reason ?? null) : null,
        };
      case 'put-back':
        return { id, token, kind: 'put-back', delayMs: decision.delayMs, reason: 'worker-stopping' };
    }
  }

  #errors(attempt: Attempt, ending: Ending): string {
    const entry: AttemptFailure = {
      at: this.#options.now(),
      attempt: attempt.job.attempts + 1,
      kind: ending.outcome.kind === 'timed-out' ? 'timed-out' : 'failed',
      worker: this.#options.workerId,
      error: ending.failure ?? describeFailure(new Error('no error was given')),
    };
    return appendFailure(attempt.job.errors, entry);
  }
}

type HandlerOutcome = Extract<Parameters<typeof isOutcome>[0], object> & { kind: string };

function endingOfOutcome(value: HandlerOutcome | { kind: 'snooze' | 'cancel' }): Ending {
  const outcome = value as { kind: 'snooze'; delay: string | number } | { kind: 'cancel'; reason: unknown };
  if (outcome.kind === 'cancel') {
    return {
      outcome: { kind: 'cancelled', reason: reasonText(outcome.reason) },
      result: null,
      failure: null,
    };
  }
  const delayMs = parseDuration(outcome.delay, { name: 'snooze' });
  return { outcome: { kind: 'snoozed', delayMs }, result: null, failure: null };
}

/** A handler in JavaScript may give anything as its reason. */
function reasonText(reason: unknown): string | undefined {
  if (reason === null || reason === undefined) return undefined;
  const text = typeof reason === 'string' ? reason : describeFailure(reason).message;
  return storedText(text, maxReasonBytes);
}

function endingOfThrow(error: unknown): Ending {
  const failure = describeFailure(error);
  // An input that can't be decoded carries the mark too; that of a job which the handler dispatched does not.
  if (isNonRetriable(error)) {
    return { outcome: { kind: 'failed', nonRetriable: true }, result: null, failure };
  }
  if (!isRetryAfter(error)) return { outcome: { kind: 'failed' }, result: null, failure };
  try {
    return {
      outcome: { kind: 'failed', retryAfterMs: parseDuration(error.delay, { name: 'RetryAfter' }) },
      result: null,
      failure,
    };
  } catch (invalid) {
    // A delay that is none: the failure stays what it was, by the job's own backoff, and says what was wrong with the delay.
    return {
      outcome: { kind: 'failed' },
      result: null,
      failure: { ...failure, cause: describeFailure(invalid) },
    };
  }
}

/** A throw after an abort is taken as its consequence. */
function endingOfAbort(attempt: Attempt, error: unknown): Ending {
  const failure = describeFailure(error);
  switch (attempt.abortCause) {
    case 'timed-out':
      return {
        outcome: { kind: 'timed-out' },
        result: null,
        failure: describeFailure(attempt.signal.reason),
      };
    case 'cancelled':
      return { outcome: { kind: 'cancelled' }, result: null, failure };
    default:
      return { outcome: { kind: 'put-back' }, result: null, failure };
  }
}
