import { decodeWholeOutput, encodeInput } from '../client/codec.js';
import { type JobDefinition, type RunnableJob, versionOf } from '../client/job-definition.js';
import { cancelledError, failedError } from '../client/result-errors.js';
import { formatDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import { setLongTimeout } from '../internal/long-timeout.js';
import { uuidv7 } from '../internal/uuid.js';
import type { ClaimedJob } from '../storage/claimed-job.js';
import { LooseFiles } from '../storage/files/loose-files.js';
import { unbounded } from '../storage/job-limit.js';
import type { Settlement } from '../storage/settlement.js';
import { Attempt } from './attempt.js';
import type { ContextPorts } from './attempt-context.js';
import { Executor } from './executor.js';
import { monotonicMs } from './monotonic.js';

export interface RunNowOptions {
  readonly logger: Logger;
  readonly dispatch: ContextPorts['dispatch'];
  readonly maxPayloadBytes: number;
  readonly killGraceMs: number;
}

const noToken = '0'.repeat(32);
const workerId = 'run-now';

/**
 * Runs one attempt of a job here and now, by the code that workers run it with, but for storage: nothing is dispatched,
 * claimed or settled, and nothing is retried. Log lines go to the logger.
 *
 * @throws MillraceError as waiting for the result would: `job-failed`, `job-cancelled`, `result-too-large`; `payload-invalid`
 */
export async function runNow(job: RunnableJob, input: unknown, options: RunNowOptions): Promise<unknown> {
  const payload = await encodeInput(job, input, options.maxPayloadBytes);
  const attempt = new Attempt(claimed(job, payload), job, {
    claimedAtMs: monotonicMs(),
    startedAtMs: monotonicMs(),
  });
  const settlement = await settledInTime(attempt, executorFor(options), options.killGraceMs);
  return outcomeOf(attempt.job, settlement);
}

/** Refuses what has no code here. */
export function runnableHere(
  job: JobDefinition | string,
  runnable: RunnableJob | null | undefined,
): RunnableJob {
  const name = typeof job === 'string' ? job : job.name;
  if (runnable?.lane === 'browser') {
    throw new MillraceError(
      'handler-not-inline',
      `job "${name}" runs beside a Chrome, which a worker with browser lanes has: expected a job of another lane. Dispatch it`,
      { details: { name } },
    );
  }
  if (runnable !== null && runnable !== undefined) return runnable;
  throw new MillraceError(
    'handler-not-inline',
    `job "${name}" has no run function here, so it can't run now. Pass its whole definition, or dispatch it`,
    { details: { name } },
  );
}

function claimed(job: RunnableJob, payload: string): ClaimedJob {
  const now = Date.now();
  return {
    id: uuidv7(),
    token: noToken,
    name: job.name,
    queue: job.queue,
    payload,
    version: versionOf(job),
    priority: job.priority,
    attempts: 0,
    maxAttempts: job.maxAttempts,
    deaths: 0,
    lapses: 0,
    started: true,
    errors: null,
    createdAtMs: now,
    dueAtMs: now,
    ...unbounded,
  };
}

function executorFor({ logger, dispatch, maxPayloadBytes }: RunNowOptions): Executor {
  return new Executor({
    ports: {
      log: () => undefined,
      dispatch,
      renew: () => Promise.resolve(true),
      // There is no job to be settled: a handler that does not fail is taken to have committed.
      settleIn: () => Promise.resolve('done'),
      settleInSync: () => 'done',
      wasSettled: (_, hasFailed) => Promise.resolve(!hasFailed),
      files: new LooseFiles(),
      maxPayloadBytes,
      logger,
    },
    workerId,
    maxPayloadBytes,
    random: Math.random,
    now: Date.now,
  });
}

/** The timeout aborts the attempt; a handler that ignores it is left alone after the grace. */
async function settledInTime(
  attempt: Attempt,
  executor: Executor,
  killGraceMs: number,
): Promise<Settlement | null> {
  let onAbandon: (settlement: Settlement | null) => void = () => undefined;
  const abandoned = new Promise<Settlement | null>((resolve) => {
    onAbandon = resolve;
  });
  let timer = setLongTimeout(() => {
    attempt.abort('timed-out', monotonicMs());
    timer = setLongTimeout(() => onAbandon(executor.abandon(attempt)), killGraceMs);
  }, attempt.definition.timeoutMs);
  try {
    return await Promise.race([executor.run(attempt), abandoned]);
  } finally {
    timer.cancel();
  }
}

function outcomeOf({ id, name }: ClaimedJob, settlement: Settlement | null): unknown {
  switch (settlement?.kind) {
    case 'completed':
      return decodeWholeOutput(settlement.result, `result of job "${name}"`);
    case 'retry':
    case 'buried': {
      const reason = settlement.kind === 'buried' ? settlement.reason : 'would be retried';
      throw failedError({ id, status: 'buried', result: null, errors: settlement.errors, reason });
    }
    case 'cancelled':
      throw cancelledError({
        id,
        status: 'cancelled',
        result: null,
        errors: null,
        reason: settlement.reason,
      });
    case 'snoozed':
      throw notEnded(name, `it asked to run again in ${formatDuration(settlement.delayMs)}`);
    case 'died':
      throw notEnded(name, 'its lane died');
    case 'put-back':
    case undefined:
      throw notEnded(name, 'it was put back');
  }
}

function notEnded(name: string, why: string): MillraceError {
  return new MillraceError('job-failed', `job "${name}" did not end when run now: ${why}`, {
    details: { name },
  });
}
