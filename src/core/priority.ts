import { expectedGot, MillraceError } from '../internal/errors.js';

/** The named priorities. Higher is served first. */
export const namedPriorities = Object.freeze({ low: -10, normal: 0, high: 10, urgent: 20 });

/** A name, or any whole number from −100 to 100. */
export type Priority = keyof typeof namedPriorities | number;

export const lowestPriority = -100;
export const highestPriority = 100;
export const defaultPriority: number = namedPriorities.normal;

/**
 * The number of a priority. A text of digits, as a command line hands it over, counts as a number.
 *
 * @throws MillraceError `option-invalid`
 */
export function parsePriority(value: unknown, name = 'option "priority"'): number {
  if (typeof value === 'string' && Object.hasOwn(namedPriorities, value)) {
    return namedPriorities[value as keyof typeof namedPriorities];
  }
  const number = typeof value === 'string' && /^[+-]?\d{1,3}$/.test(value) ? Number(value) : value;
  if (
    typeof number === 'number' &&
    Number.isInteger(number) &&
    number >= lowestPriority &&
    number <= highestPriority
  ) {
    return number + 0 === 0 ? 0 : number;
  }
  throw new MillraceError(
    'option-invalid',
    expectedGot({
      what: name,
      expected: `'low', 'normal', 'high', 'urgent' or a whole number from ${lowestPriority} to ${highestPriority}`,
      got: value,
    }),
    { details: { got: value } },
  );
}
