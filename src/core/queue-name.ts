import { expectedGot, MillraceError } from '../internal/errors.js';
import { isQueueName, queueNameRule } from '../internal/name-rule.js';

/** The queue of a job that names none. */
export const defaultQueue = 'default';

/**
 * A usable queue name: 1 to 100 of the letters A-Z a-z, digits and `_ . : -`.
 *
 * @throws MillraceError `queue-name-invalid`
 */
export function parseQueueName(value: unknown): string {
  if (isQueueName(value)) return value;
  throw new MillraceError(
    'queue-name-invalid',
    expectedGot({ what: 'queue name', expected: queueNameRule, got: value }),
    { details: { got: value } },
  );
}
