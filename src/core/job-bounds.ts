/** The rules of what bounds a job: groups, maxima, costs and labels, wherever they are given. */
import { expectedGot, MillraceError } from '../internal/errors.js';
import { isQueueName, queueNameRule } from '../internal/name-rule.js';

export const largestMax = 1_000_000;
export const largestCost = 1_000_000;
export const mostLabels = 10;

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

/** A usable label: what a queue name may be. @throws MillraceError `option-invalid` */
export function parseLabel(value: unknown, what = 'label'): string {
  if (isQueueName(value)) return value;
  throw refused(what, queueNameRule, value);
}

/**
 * Labels from a list, or a text with commas: sorted, each once, at most 10.
 *
 * @throws MillraceError `option-invalid`
 */
export function parseLabels(value: unknown, what = 'labels'): readonly string[] {
  const parts = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
  if (!Array.isArray(parts)) throw refused(what, 'a list of labels', value);
  const labels = [...new Set(parts.map((part: unknown) => parseLabel(part, what)))].sort();
  if (labels.length <= mostLabels) return Object.freeze(labels);
  throw new MillraceError('option-invalid', `${what}: expected at most ${mostLabels}, got ${labels.length}`);
}

function wholeNumber(value: unknown, what: string, largest: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= largest) return value;
  throw refused(what, `a whole number from 1 to ${largest}`, value);
}

function refused(what: string, expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', expectedGot({ what, expected, got }), { details: { got } });
}
