import { formatDuration } from '../internal/duration.js';
import { parseFailures } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import type { OutboxEntry } from './outbox.js';

/** One line for each attempt that storage has acknowledged: what went wrong is told without asking, what went well at `debug`. */
export function logSettled(logger: Logger, { settlement, job, durationMs }: OutboxEntry): void {
  if (job === null) return;
  const facts = {
    job: job.id,
    name: job.name,
    queue: job.queue,
    attempt: `${job.attempts + 1} of ${job.maxAttempts}`,
  };
  switch (settlement.kind) {
    case 'completed':
      logger.debug('job completed', { job: job.id, name: job.name, ms: Math.round(durationMs) });
      break;
    case 'retry': {
      const error = lastMessage(settlement.errors);
      logger.warn('attempt failed, the job will be tried again', {
        ...facts,
        in: formatDuration(settlement.delayMs),
        error,
      });
      break;
    }
    case 'buried':
      logger.error('attempt failed, the job is buried', {
        ...facts,
        reason: settlement.reason,
        error: lastMessage(settlement.errors),
      });
      break;
    case 'cancelled':
      logger.info('job cancelled', { ...facts, reason: settlement.reason ?? undefined });
      break;
    case 'snoozed':
      logger.debug('job snoozed', { ...facts, for: formatDuration(settlement.delayMs) });
      break;
    case 'put-back':
      logger.debug('job put back, not charged', { ...facts, reason: settlement.reason });
      break;
    case 'died':
      logger.warn('the lane of a job died, the job is due again', {
        ...facts,
        in: formatDuration(settlement.delayMs),
        alone: settlement.alone,
        error: lastMessage(settlement.errors),
      });
      break;
  }
}

function lastMessage(errors: string): string {
  const failure = parseFailures(errors).at(-1)?.error;
  return failure === undefined ? 'unknown' : `${failure.name}: ${failure.message.slice(0, 500)}`;
}
