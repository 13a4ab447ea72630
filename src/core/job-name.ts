import { expectedGot, MillraceError } from '../internal/errors.js';
import { isJobName, jobNameRule } from '../internal/name-rule.js';

/**
 * A usable job name: 1 to 100 of the letters A-Z a-z, digits and `_ . : / -`.
 *
 * @throws MillraceError `job-name-invalid`
 */
export function parseJobName(value: unknown): string {
  if (isJobName(value)) return value;
  throw new MillraceError(
    'job-name-invalid',
    expectedGot({ what: 'job name', expected: jobNameRule, got: value }),
    { details: { got: value } },
  );
}
