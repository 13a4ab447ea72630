import type { MillraceEvents } from '../client/events.js';
import { parseFailures } from '../internal/failure.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { OutboxEntry } from './outbox.js';

/** Tells of a settlement that storage has acknowledged. Costs nothing while nobody listens. */
export function emitSettled(
  events: TypedEvents<MillraceEvents>,
  { settlement, job, durationMs }: OutboxEntry,
  workerId: string,
): void {
  if (job === null) return;
  const name = eventOf[settlement.kind];
  if (name === null || events.listenerCount(name) === 0) return;
  const facts = { id: job.id, name: job.name, queue: job.queue, attempt: job.attempts + 1, workerId };
  switch (settlement.kind) {
    case 'completed':
      events.emit('job:completed', { ...facts, durationMs });
      break;
    case 'retry': {
      const failure = parseFailures(settlement.errors).at(-1)?.error ?? { name: 'Error', message: 'unknown' };
      events.emit('job:retrying', { ...facts, delayMs: settlement.delayMs, failure });
      break;
    }
    case 'buried': {
      const failure = parseFailures(settlement.errors).at(-1)?.error ?? null;
      events.emit('job:buried', { ...facts, reason: settlement.reason, failure });
      break;
    }
    case 'cancelled':
      events.emit('job:cancelled', { ...facts, reason: settlement.reason });
      break;
    case 'snoozed':
      events.emit('job:snoozed', { ...facts, delayMs: settlement.delayMs });
      break;
    case 'put-back':
    case 'died':
      break;
  }
}

const eventOf = {
  completed: 'job:completed',
  retry: 'job:retrying',
  buried: 'job:buried',
  cancelled: 'job:cancelled',
  snoozed: 'job:snoozed',
  'put-back': null,
  died: null,
} as const;
