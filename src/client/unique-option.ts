import { describeValue } from '../internal/describe-value.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { expectedGot, MillraceError } from '../internal/errors.js';
import { sha256Hex } from '../internal/hash.js';
import { canonicalJson } from '../internal/json.js';
import type { NewJob } from '../storage/new-job.js';
import type { OptionProblems } from './option-problems.js';

/**
 * At most one job of this name and key at a time: a dispatch that meets another answers with that job.
 * `true` means by input (the order of keys in it doesn't matter), until the job is final.
 */
export type UniqueOption<Input = unknown> =
  | boolean
  | {
      /** What makes two jobs of this name the same. @default their input */
      readonly key?: string | UniqueKeyFunction<Input> | undefined;
      /** `waiting`: until the job first starts. `active`: until it is final. @default 'active' */
      readonly while?: 'waiting' | 'active' | undefined;
      /** Instead of `while`: for so long from the dispatch, whatever becomes of the job. */
      readonly period?: Duration | undefined;
    };

/** Written as a method, so that options of any input fit where options in general are asked for. */
export type UniqueKeyFunction<Input> = { of(input: Input): string }['of'];

export interface ResolvedUnique {
  /** Null: by input. */
  readonly key: string | ((input: never) => string) | null;
  readonly scope: 'waiting' | 'active' | 'period';
  readonly periodMs: number;
}

const byInput: ResolvedUnique = Object.freeze({ key: null, scope: 'active', periodMs: 0 });
const known = ['key', 'while', 'period'] as const;

/** Notes every problem; answers null when there is one, or when the option is false. */
export function resolveUnique(given: unknown, problems: OptionProblems): ResolvedUnique | null {
  if (given === true) return byInput;
  if (given === false || given === undefined) return null;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.add(`option "unique": expected true or { key, while, period }, got ${describeValue(given)}`);
    return null;
  }
  const { key, while: scope, period } = given as Record<string, unknown>;
  problems.checkKeys(given as Record<string, unknown>, known, 'unique.');
  if (key !== undefined && typeof key !== 'function' && (typeof key !== 'string' || key === '')) {
    problems.add(
      `option "unique.key": expected a text or a function of the input, got ${describeValue(key)}`,
    );
  }
  if (scope !== undefined && scope !== 'waiting' && scope !== 'active') {
    problems.add(`option "unique.while": expected 'waiting' or 'active', got ${describeValue(scope)}`);
  }
  if (scope !== undefined && period !== undefined) {
    problems.add('options "unique.while" and "unique.period" contradict each other. Give one of them');
  }
  const periodMs =
    period === undefined
      ? 0
      : problems.attempt(() => parseDuration(period, { name: 'option "unique.period"', min: 1 }), 0);
  return Object.freeze({
    key: (key as ResolvedUnique['key'] | undefined) ?? null,
    scope: period !== undefined ? 'period' : ((scope as 'waiting' | 'active' | undefined) ?? 'active'),
    periodMs,
  });
}

/** The longest key that storage takes. */
const longestKey = 191;

/**
 * The key as it is stored: `i|<job>|<sha-256 of the canonical input>`, `k|<job>|<key>`, or `h|k|<job>|<sha-256>` where
 * a key is long or not printable ASCII. No job name contains `|`. Two versions of the code must agree on this.
 */
export function uniqueKeyOf(
  name: string,
  unique: ResolvedUnique,
  input: unknown,
): NonNullable<NewJob['unique']> {
  const key =
    unique.key === null ? `i|${name}|${sha256Hex(canonicalJson(input))}` : ownKey(name, unique.key, input);
  return { key, scope: unique.scope, periodMs: unique.periodMs };
}

function ownKey(name: string, given: string | ((input: never) => string), input: unknown): string {
  const key: unknown = typeof given === 'string' ? given : given(input as never);
  if (typeof key !== 'string' || key === '') {
    throw new MillraceError(
      'option-invalid',
      expectedGot({ what: `unique key of job "${name}"`, expected: 'a text that is not empty', got: key }),
    );
  }
  return storableKey(`k|${name}|`, key);
}

/** A key that every engine stores and compares the same. */
export function storableKey(prefix: string, key: string): string {
  const whole = prefix + key;
  return whole.length <= longestKey && /^[\x20-\x7e]*$/.test(key) ? whole : `h|${prefix}${sha256Hex(key)}`;
}
