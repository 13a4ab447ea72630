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

export const isOutcome = (value: unknown): value is Outcome => hasBrand(value, outcomeBrand);

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

/** Handlers return and throw anything, proxies that throw when looked at included: those carry no mark of ours. */
function hasBrand(value: unknown, brand: symbol): boolean {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return Reflect.get(value, brand) === true;
  } catch {
    // A revoked proxy, or a trap that throws.
    return false;
  }
}

export const isRetryAfter = (error: unknown): error is RetryAfter =>
  hasBrand(error, Symbol.for('millrace.retry-after'));
export const isNonRetriable = (error: unknown): error is NonRetriable =>
  hasBrand(error, Symbol.for('millrace.non-retriable'));
