/**
 * Which queues are served, and how they share.
 *
 * As a text, or as a list of its parts:
 *   `critical,default,low`          strict: a queue is served only while those before it have nothing that can run
 *   `critical:6,default:3,low:1`    shares: of ten jobs six, three and one, as long as each queue has some
 *   `*`                             all queues there are, also those to come, in equal shares
 *   `*,!reports` or `!reports`      all but these
 *
 * A part that ends in `:` and digits is a share. The name of a queue may end so too: such a queue is named with a share
 * behind it (`tenant:7:1`), or by the parsed form, which takes every name as it is.
 */
import { describeValue } from './describe-value.js';
import { MillraceError } from './errors.js';
import { isQueueName, queueNameRule } from './name-rule.js';

export interface QueueShare {
  readonly queue: string;
  /** Whole, 1 … 1000. */
  readonly weight: number;
}

/** At least one queue in each list, none twice. */
export type QueueSelection =
  | { readonly order: 'strict'; readonly queues: readonly string[] }
  | { readonly order: 'shares'; readonly shares: readonly QueueShare[] }
  | { readonly order: 'all'; readonly except: readonly string[] };

const largestWeight = 1_000;
/** More names than that are a mistake; `*` serves any number. */
const mostQueues = 1_000;
const examples = 'critical,default (strict order), critical:6,default:3 (shares) or *,!reports (all but)';

/** @throws MillraceError `queue-name-invalid` */
export function parseQueueSelection(value: unknown): QueueSelection {
  if (isSelection(value)) return ofParsed(value);
  const parts = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(parts)) throw invalid(`expected ${examples}, got ${describeValue(value)}`, value);
  const texts = parts.map((part: unknown) => (typeof part === 'string' ? part.trim() : refusePart(part)));
  if (texts.length === 0) throw invalid('expected at least one queue name, got none', value);
  if (texts.some((text) => text === '*' || text.startsWith('!'))) return allBut(texts, value);
  const shares = texts.map(shareOf);
  const weighted = shares.filter((share) => share !== null);
  if (weighted.length === 0) return strict(texts);
  const [only] = weighted;
  if (weighted.length === 1 && texts.length === 1 && only !== undefined && shareOf(only.queue) === null) {
    throw invalid(
      `"${texts[0]}" is the share of a single queue, which says nothing. Leave out the share: "${only.queue}"; or, if that is the name of the queue, add one: "${texts[0]}:1"`,
      value,
    );
  }
  const plain = texts.find((_, index) => shares[index] === null);
  if (plain !== undefined) {
    throw invalid(
      `"${only?.queue}" has a share and "${plain}" has none. Give each queue a share, as in "${plain}:1", or none for strict order`,
      value,
    );
  }
  return ofShares(weighted);
}

/** The selection as a person would write it; `parseQueueSelection` reads it back. */
export function formatQueueSelection(selection: QueueSelection): string {
  switch (selection.order) {
    case 'strict':
      return selection.queues.join(',');
    case 'shares':
      return selection.shares.map(({ queue, weight }) => `${queue}:${weight}`).join(',');
    case 'all':
      return servedQueues(selection).join(',');
  }
}

/** As a worker tells it in its registration: the names, or `*` with the exceptions as `!name`. */
export function servedQueues(selection: QueueSelection): string[] {
  switch (selection.order) {
    case 'strict':
      return [...selection.queues];
    case 'shares':
      return selection.shares.map(({ queue }) => queue);
    case 'all':
      return ['*', ...selection.except.map((queue) => `!${queue}`)];
  }
}

/** Whether a queue is among those that a worker tells it serves. */
export function isServed(served: readonly string[], queue: string): boolean {
  return served.includes('*') ? !served.includes(`!${queue}`) : served.includes(queue);
}

function strict(queues: readonly string[]): QueueSelection {
  return Object.freeze({ order: 'strict', queues: named(queues) });
}

function ofShares(shares: readonly QueueShare[]): QueueSelection {
  named(shares.map(({ queue }) => queue));
  for (const { queue, weight } of shares) {
    if (!Number.isInteger(weight) || weight < 1 || weight > largestWeight) {
      throw invalid(
        `the share of "${queue}": expected a whole number from 1 to ${largestWeight}, got ${describeValue(weight)}`,
        weight,
      );
    }
  }
  return Object.freeze({
    order: 'shares',
    shares: Object.freeze(shares.map(({ queue, weight }) => Object.freeze({ queue, weight }))),
  });
}

function allBut(parts: readonly string[], value: unknown): QueueSelection {
  const other = parts.find((part) => part !== '*' && !part.startsWith('!'));
  if (other !== undefined) {
    const what = parts.includes('*')
      ? '"*" stands for all queues'
      : 'an exception such as "!reports" is one from all queues';
    throw invalid(
      `${what}, so "${other}" can't stand beside it. Name either the queues, or all but some`,
      value,
    );
  }
  const except = parts.filter((part) => part !== '*').map((part) => part.slice(1).trim());
  if (parts.filter((part) => part === '*').length > 1) throw invalid('"*" is named twice', value);
  return Object.freeze({ order: 'all', except: named(except) });
}

/** Null: a name without a share. */
function shareOf(text: string): QueueShare | null {
  const match = /^(.+):(\d+)$/.exec(text);
  return match === null ? null : { queue: match[1] as string, weight: Number(match[2]) };
}

function named(queues: readonly string[]): readonly string[] {
  if (queues.length > mostQueues) {
    throw invalid(
      `expected at most ${mostQueues} queues, got ${queues.length}. "*" serves all there are`,
      queues,
    );
  }
  const wrong = queues.find((queue) => !isQueueName(queue));
  if (wrong !== undefined) {
    throw invalid(`expected queue names of ${queueNameRule}, got ${describeValue(wrong)}`, wrong);
  }
  const seen = new Set<string>();
  for (const queue of queues) {
    if (seen.has(queue)) throw invalid(`queue "${queue}" is named twice. Name each queue once`, queues);
    seen.add(queue);
  }
  return Object.freeze([...queues]);
}

function isSelection(value: unknown): value is QueueSelection {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'order' in value;
}

function ofParsed(value: QueueSelection): QueueSelection {
  const of = value as { order: unknown; queues?: unknown; shares?: unknown; except?: unknown };
  const isPair = (share: unknown): boolean => typeof share === 'object' && share !== null && 'queue' in share;
  if (value.order === 'strict' && isFilledList(of.queues)) return strict(value.queues);
  if (value.order === 'shares' && isFilledList(of.shares) && of.shares.every(isPair))
    return ofShares(value.shares);
  if (value.order === 'all' && Array.isArray(of.except)) {
    return Object.freeze({ order: 'all', except: named(value.except) });
  }
  throw invalid(
    `expected { order: 'strict', queues }, { order: 'shares', shares: [{ queue, weight }] } or { order: 'all', except }, got order ${describeValue(of.order)}`,
    value,
  );
}

const isFilledList = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > 0;

function refusePart(part: unknown): never {
  throw invalid(`expected names of queues as texts, got ${describeValue(part)}`, part);
}

function invalid(message: string, got: unknown): MillraceError {
  return new MillraceError('queue-name-invalid', `queue list: ${message}`, { details: { got } });
}
