import type { MillraceEvents } from '../client/events.js';
import { parseFailures } from '../internal/failure.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { OutboxEntry } from './outbox.js';

/** Tells of a settlement that storage has acknowledged. Costs nothing while nobody listens. */
export function emitSettled(events: TypedEvents<MillraceEvents>, { settlement, job, durationMs }: OutboxEntry, workerId: string): void {
  if (job === null) return;
  const name = eventOf[settlement.kind];
  if (name === null || events.listenerCount(name) === 0) return;
  const facts = { id: job.id, name: job.name, queue: job.queue, attempt: job.attempts + 1, workerId };
  switch (settlement.kind) {
    case 'completed':
      return events.emit('job:completed', { ...facts, durationMs });
    case 'retry': {
      const failure = parseFailures(settlement.errors).at(-1)?.error ?? { name: 'Error', message: 'unknown' };
      return events.emit('job:retrying', { ...facts, delayMs: settlement.delayMs, failure });
    }
    case 'buried': {
      const failure = parseFailures(settlement.errors).at(-1)?.error ?? null;
      return events.emit('job:buried', { ...facts, reason: settlement.reason, failure });
    }
    case 'cancelled':
      return events.emit('job:cancelled', { ...facts, reason: settlement.reason });
    case 'snoozed':
      return events.emit('job:snoozed', { ...facts, delayMs: settlement.delayMs });
    case 'put-back':
      return;
  }
}

const eventOf = {
  completed: 'job:completed',
  retry: 'job:retrying',
  buried: 'job:buried',
  cancelled: 'job:cancelled',
  snoozed: 'job:snoozed',
  'put-back': null,
} as const;
