import { parseCost, parseGroup, parseMax } from '../core/job-bounds.js';
import { describeValue } from '../internal/describe-value.js';
import { expectedGot, MillraceError } from '../internal/errors.js';
import { sha256Hex } from '../internal/hash.js';
import type { JobLimit } from '../storage/job-limit.js';
import type { OptionProblems } from './option-problems.js';

/**
 * How many jobs of a group may run at once, over all workers, queues and names. A job waits where it stands until there is
 * room, and holds up no other.
 */
export interface LimitOption<Input = unknown> {
  /** 1 to 100 of the letters A-Z a-z, digits and `_ . : -`. */
  readonly group: string;
  /** At most so many at once, 1 … 1,000,000; where jobs of one group say different numbers, the smaller holds. @default none: the group is there for a budget */
  readonly max?: number | undefined;
  /**
   * A tenant of the group: each key has the limit for itself, and claims take turns between the keys of a group. A text of
   * up to 1,000 characters, or a function of the input. @default the group as one
   */
  readonly key?: string | LimitKeyFunction<Input> | undefined;
}

/** Written as a method, so that options of any input fit where options in general are asked for. */
export type LimitKeyFunction<Input> = { of(input: Input): string }['of'];

/** Of one dispatch: what is left out stays as the definition says, within the same group. */
export interface DispatchLimit {
  /** @default the group of the definition */
  readonly group?: string | undefined;
  readonly max?: number | undefined;
  readonly key?: string | undefined;
}

export interface ResolvedLimit {
  readonly group: string;
  readonly max: number | null;
  readonly key: string | ((input: never) => string) | null;
}

const known = ['group', 'max', 'key'] as const;
const longestKey = 191;
const longestGivenKey = 1_000;

/** Notes every problem; answers null when there is one, or when nothing was given. */
export function resolveLimit(given: unknown, problems: OptionProblems): ResolvedLimit | null {
  if (given === undefined) return null;
  const parts = takeParts(given, problems, '{ group, max, key }');
  if (parts === null) return null;
  const { group, max, key } = parts;
  if (key !== undefined && typeof key !== 'function') problems.attempt(() => checkKey(key), null);
  const name = problems.attempt(() => parseGroup(group, 'option "limit.group"'), '');
  return Object.freeze({
    group: name,
    max: max === undefined ? null : problems.attempt(() => parseMax(max, 'option "limit.max"'), null),
    key: (key as ResolvedLimit['key'] | undefined) ?? null,
  });
}

/** The limit of one dispatch; undefined: as its definition says. */
export function resolveDispatchLimit(
  given: unknown,
  ofDefinition: ResolvedLimit | null,
  problems: OptionProblems,
): ResolvedLimit | null | undefined {
  if (given === undefined) return undefined;
  if (given === false) return null;
  const parts = takeParts(given, problems, '{ group, max, key } or false');
  if (parts === null) return undefined;
  const { group = ofDefinition?.group, key } = parts;
  if (typeof key === 'function') {
    problems.add(
      'option "limit.key": expected a text, got a function. A function of the input belongs in the definition',
    );
    return undefined;
  }
  if (group === undefined) {
    problems.add(
      'option "limit.group": expected the name of a group, since the definition of the job has none',
    );
    return undefined;
  }
  const inherited = ofDefinition?.group === group ? ofDefinition : null;
  const own = resolveLimit({ group, max: parts['max'], key }, problems);
  if (own === null) return undefined;
  return { group: own.group, max: own.max ?? inherited?.max ?? null, key: own.key ?? inherited?.key ?? null };
}

/** A cost; a problem is noted and undefined stands in. */
export function costOption(value: unknown, problems: OptionProblems): number | undefined {
  if (value === undefined) return undefined;
  return problems.attempt(() => parseCost(value, 'option "cost"'), undefined);
}

/** The limit of a job with this input. @throws MillraceError `option-invalid` where its key function answers no key */
export function limitOf(name: string, { group, max, key }: ResolvedLimit, input: unknown): JobLimit {
  if (key === null) return { group, max, key };
  const text: unknown = typeof key === 'string' ? key : key(input as never);
  return { group, max, key: storedKey(checkKey(text, `limit key of job "${name}"`)) };
}

/** What is long, or holds what some database refuses, is kept as a hash. Two versions of the code must agree on this. */
function storedKey(key: string): string {
  const isStorable = key.length <= longestKey && !/\p{Cc}|\p{Cs}/u.test(key);
  return isStorable && !key.startsWith('h|') ? key : `h|${sha256Hex(key)}`;
}

function checkKey(key: unknown, what = 'option "limit.key"'): string {
  if (typeof key === 'string' && key !== '' && key.length <= longestGivenKey) return key;
  const expected = `a text of 1 to ${longestGivenKey} characters`;
  throw new MillraceError('option-invalid', expectedGot({ what, expected, got: key }));
}

function takeParts(
  given: unknown,
  problems: OptionProblems,
  expected: string,
): Readonly<Record<string, unknown>> | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.add(`option "limit": expected ${expected}, got ${describeValue(given)}`);
    return null;
  }
  problems.checkKeys(given as Record<string, unknown>, known, 'limit.');
  return given as Record<string, unknown>;
}
