import { expectedGot, MillraceError } from './errors.js';
import { isQueueName, queueNameRule } from './name-rule.js';

export const mostLabels = 10;

/**
 * Labels from a list, or a text with commas: each what a queue name may be, sorted, each once, at most 10.
 *
 * @throws MillraceError `option-invalid`
 */
export function parseLabels(value: unknown, what = 'labels'): readonly string[] {
  const parts = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
  if (!Array.isArray(parts)) throw refused(what, 'a list of labels', value);
  for (const part of parts as unknown[]) if (!isQueueName(part)) throw refused(what, queueNameRule, part);
  const labels = [...new Set(parts as string[])].sort();
  if (labels.length <= mostLabels) return Object.freeze(labels);
  throw new MillraceError('option-invalid', `${what}: expected at most ${mostLabels}, got ${labels.length}`);
}

function refused(what: string, expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', expectedGot({ what, expected, got }), { details: { got } });
}
