/**
 * How a handler ends an attempt other than by a value or an ordinary throw.
 * Returned: `snooze`, `cancel`. Thrown: `RetryAfter`, `NonRetriable`.
 */
import type { Duration } from '../internal/duration.js';

const outcomeBrand: unique symbol = Symbol.for('millrace.outcome') as never;

export type Outcome =
  | { readonly [outcomeBrand]: true; readonly kind: 'snooze'; readonly delay: Duration }
  | { readonly [outcomeBrand]: true; readonly kind: 'cancel'; readonly reason: string | null };

/** Due again after `delay`, not charged as an attempt: `return snooze('5m')`. */
export const snooze = (delay: Duration): Outcome => ({ [outcomeBrand]: true, kind: 'snooze', delay });

/** Ends the job as cancelled: `return cancel('the order was withdrawn')`. */
export const cancel = (reason?: string): Outcome => ({
  [outcomeBrand]: true,
  kind: 'cancel',
  reason: reason ?? null,
});

export const isOutcome = (value: unknown): value is Outcome =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[outcomeBrand] === true;

/** Thrown by a handler: try again after `delay` instead of the job's backoff. Charged as an attempt. */
export class RetryAfter extends Error {
  readonly delay: Duration;
  constructor(delay: Duration, message = `retry after ${delay}`, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RetryAfter';
    this.delay = delay;
    Object.defineProperty(this, Symbol.for('millrace.retry-after'), { value: true });
  }
}

/** Thrown by a handler: no further attempt can help; the job is buried at once. */
export class NonRetriable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NonRetriable';
    Object.defineProperty(this, Symbol.for('millrace.non-retriable'), { value: true });
  }
}

const hasBrand = (error: unknown, brand: string): boolean =>
  typeof error === 'object' &&
  error !== null &&
  (error as Record<symbol, unknown>)[Symbol.for(brand)] === true;

export const isRetryAfter = (error: unknown): error is RetryAfter => hasBrand(error, 'millrace.retry-after');
export const isNonRetriable = (error: unknown): error is NonRetriable =>
  hasBrand(error, 'millrace.non-retriable');
