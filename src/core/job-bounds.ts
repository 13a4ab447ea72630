/** The rules of what bounds a job: groups, maxima and costs, wherever they are given. */
import { expectedGot, MillraceError } from '../internal/errors.js';
import { isQueueName, queueNameRule } from '../internal/name-rule.js';

export const largestMax = 1_000_000;
export const largestCost = 1_000_000;

/** A usable group: what a queue name may be. @throws MillraceError `option-invalid` */
export function parseGroup(value: unknown, what = 'group'): string {
  if (isQueueName(value)) return value;
  throw refused(what, queueNameRule, value);
}

/** How many of a group may run at once. @throws MillraceError `option-invalid` */
export function parseMax(value: unknown, what = 'max'): number {
  return wholeNumber(value, what, largestMax);
}

/** A weight against budgets. @throws MillraceError `option-invalid` */
export function parseCost(value: unknown, what = 'cost'): number {
  return wholeNumber(value, what, largestCost);
}

function wholeNumber(value: unknown, what: string, largest: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= largest) return value;
  throw refused(what, `a whole number from 1 to ${largest}`, value);
}

function refused(what: string, expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', expectedGot({ what, expected, got }), { details: { got } });
}
