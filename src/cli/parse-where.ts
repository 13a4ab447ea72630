import type { JobsWhere, Moment } from '../client/jobs-where.js';
import { jobStatuses } from '../core/job-status.js';
import { parseTag } from '../core/job-tags.js';
import { MillraceError } from '../internal/errors.js';
import { nearestName } from '../internal/nearest-name.js';
import { FlagValues } from './flag-values.js';

/** What stands in `--where`, by the option of the library it becomes. */
const keys = {
  status: 'status',
  queue: 'queue',
  name: 'name',
  tag: 'tag',
  worker: 'worker',
  error: 'errorText',
  'older-than': 'createdBefore',
  'younger-than': 'createdAfter',
  'created-before': 'createdBefore',
  'created-after': 'createdAfter',
  'ended-before': 'finishedBefore',
  'ended-after': 'finishedAfter',
} as const satisfies Record<string, keyof JobsWhere>;

export type WhereKey = keyof typeof keys;

/** A term, and what stands behind it: `key=value`, `key~value`, the value bare or in double quotes. */
const termPattern = /([^=~,]*)(=|~)?\s*("(?:[^"\\]|\\.)*"|[^",][^,]*|)(,|$)/y;

export const whereHelp =
  '--where takes key=value, separated by commas or given again: status, queue, name, tag, worker, older-than, younger-than, ' +
  'created-before, created-after, ended-before, ended-after, and error~text for what stands in the last failure. ' +
  'Times are how long ago, as in 2h, or 2030-01-31T08:00:00Z. A value with a comma goes in double quotes.';

/**
 * What is looked for, every value checked.
 *
 * @param command its name, for messages
 * @throws MillraceError `usage-invalid`, `option-invalid`
 */
export function parseWhere(command: string, texts: readonly string[]): JobsWhere {
  const given: Given = {};
  for (const text of texts) for (const term of termsOf(text)) addTerm(given, term);
  const values = new FlagValues(command);
  const moment = (key: WhereKey, value: string | undefined): Moment | undefined =>
    values.moment(`--where ${key}`, value);
  const where: JobsWhere = {
    status: values.choice('--where status', given.status, jobStatuses),
    queue: values.queue(given.queue),
    name: values.name(given.name),
    tag: values.take(given.tag, (tag) => parseTag(tag, '--where tag')),
    worker: given.worker,
    errorText: given.errorText,
    createdBefore: moment('created-before', given.createdBefore),
    createdAfter: moment('created-after', given.createdAfter),
    finishedBefore: moment('ended-before', given.finishedBefore),
    finishedAfter: moment('ended-after', given.finishedAfter),
  };
  values.throwIfAny();
  return where;
}

type Given = Partial<Record<keyof JobsWhere, string>>;

interface Term {
  readonly text: string;
  readonly key: string;
  readonly operator: string | undefined;
  readonly value: string;
}

function termsOf(text: string): Term[] {
  const terms: Term[] = [];
  termPattern.lastIndex = 0;
  for (;;) {
    const match = termPattern.exec(text);
    if (match === null) throw wrong(text, 'key=value, or key="value, with a comma"');
    const [whole, key = '', operator, value = '', end] = match;
    terms.push({ text: whole.replace(/,$/, ''), key: key.trim(), operator, value: unquoted(value.trim()) });
    if (end === '') return terms;
  }
}

const unquoted = (value: string): string =>
  value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value;

function addTerm(
  where: Partial<Record<keyof JobsWhere, string>>,
  { text, key, operator, value }: Term,
): void {
  if (!isWhereKey(key)) {
    const nearest = nearestName(key, Object.keys(keys));
    const fix =
      nearest === undefined ? `Known are ${Object.keys(keys).join(', ')}` : `Did you mean ${nearest}?`;
    throw new MillraceError('usage-invalid', `--where: there is no "${key}" to look for. ${fix}`);
  }
  const expected = key === 'error' ? '~' : '=';
  if (operator !== expected || value === '')
    throw wrong(text, `${key}${expected}${key === 'error' ? 'text' : '…'}`);
  const option = keys[key];
  if (where[option] !== undefined) throw wrong(text, `one value for "${key}"; it is given twice`);
  where[option] = value;
}

const isWhereKey = (key: string): key is WhereKey => Object.hasOwn(keys, key);

function wrong(got: string, expected: string): MillraceError {
  return new MillraceError('usage-invalid', `--where: expected ${expected}, got ${JSON.stringify(got)}`, {
    details: { got },
  });
}
