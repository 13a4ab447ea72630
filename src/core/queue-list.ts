import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import { parseQueueName } from './queue-name.js';

/** Which queues a worker serves, and in which order. */
export interface QueueList {
  /**
   * Strict: a queue is served only while those before it have nothing that can run.
   * The place where weighted lists will stand beside it.
   */
  readonly order: 'strict';
  /** At least one name, none twice. */
  readonly queues: readonly string[];
}

/**
 * Reads `critical,default,low`, or the same as an array of names. Blanks around names are allowed.
 * Weights (`critical:6,default:3`) are not known yet and refused rather than taken for names:
 * a name that ends in `:` and digits can be listed only as an element of an array.
 *
 * @throws MillraceError `queue-name-invalid`
 */
export function parseQueueList(value: string | readonly string[]): QueueList {
  if (typeof value !== 'string' && !Array.isArray(value)) {
    throw invalid(
      `queue list: expected a list of names or a text such as critical,default, got ${describeValue(value)}`,
      value,
    );
  }
  const names = typeof value === 'string' ? splitText(value) : value.map(parseQueueName);
  if (names.length === 0) {
    throw invalid('queue list: expected at least one queue name, got none', value);
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw invalid(`queue list: queue "${repeated}" is named twice. Name each queue once.`, value);
  }
  return Object.freeze({ order: 'strict', queues: Object.freeze([...names]) });
}

function splitText(text: string): string[] {
  return text.split(',').map((part) => {
    const name = part.trim();
    if (/:\d+$/.test(name)) {
      throw invalid(
        `queue list: "${name.slice(0, 120)}" looks like a weight, and weights are not supported in this version. List the queues in strict order: critical,default,low.`,
        text,
      );
    }
    return parseQueueName(name);
  });
}

function invalid(message: string, got: unknown): MillraceError {
  return new MillraceError('queue-name-invalid', message, { details: { got } });
}
