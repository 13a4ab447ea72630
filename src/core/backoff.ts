import { type Duration, parseDuration } from '../internal/duration.js';
import { expectedGot, MillraceError } from '../internal/errors.js';

/** How the wait before a retry grows. */
export const backoffTypes = Object.freeze(['exponential', 'linear', 'fixed'] as const);
export type BackoffType = (typeof backoffTypes)[number];

/** How long a job waits before it is tried again: a type with the defaults, or all of it. */
export type Backoff =
  | BackoffType
  | {
      readonly type: BackoffType;
      /** The wait after the first failure. @default '5s' */
      readonly base?: Duration | undefined;
      /** The longest wait. @default '1h' */
      readonly max?: Duration | undefined;
      /** Draw the wait at random from 0 to its full length. @default true, for 'fixed' false */
      readonly jitter?: boolean | undefined;
    };

/** A backoff after defaults. Plain data: it is kept with the job as JSON. */
export interface ResolvedBackoff {
  readonly type: BackoffType;
  readonly baseMs: number;
  readonly maxMs: number;
  readonly jitter: boolean;
}

const defaultBaseMs = 5000;
const defaultMaxMs = 3_600_000;

/** Full jitter of min(1 h, 5 s × 2^(n−1)). */
export const defaultBackoff: ResolvedBackoff = Object.freeze({
  type: 'exponential',
  baseMs: defaultBaseMs,
  maxMs: defaultMaxMs,
  jitter: true,
});

/**
 * Fills in the defaults.
 *
 * @throws MillraceError `option-invalid`, `option-unknown` for a key that does not exist
 */
export function resolveBackoff(backoff: Backoff | undefined, name = 'option "backoff"'): ResolvedBackoff {
  if (backoff === undefined) return defaultBackoff;
  const given: unknown = typeof backoff === 'string' ? { type: backoff } : backoff;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw invalid(name, backoff);
  const { type, base, max, jitter, ...unknown } = given as Record<string, unknown>;
  const unknownKey = Object.keys(unknown)[0];
  if (unknownKey !== undefined) {
    throw new MillraceError(
      'option-unknown',
      `${name}: there is no key "${unknownKey}". Known are type, base, max and jitter.`,
      { details: { key: unknownKey } },
    );
  }
  if (!backoffTypes.includes(type as BackoffType))
    throw invalid(name, typeof backoff === 'string' ? backoff : type);
  if (jitter !== undefined && typeof jitter !== 'boolean') {
    throw new MillraceError(
      'option-invalid',
      expectedGot({ what: `${name}, key "jitter"`, expected: 'true or false', got: jitter }),
    );
  }
  const baseMs = base === undefined ? defaultBaseMs : parseDuration(base, { name: `${name}, key "base"` });
  const maxMs =
    max === undefined
      ? Math.max(defaultMaxMs, baseMs)
      : parseDuration(max, { name: `${name}, key "max"`, min: baseMs });
  return Object.freeze({ type: type as BackoffType, baseMs, maxMs, jitter: jitter ?? type !== 'fixed' });
}

function invalid(name: string, got: unknown): MillraceError {
  return new MillraceError(
    'option-invalid',
    expectedGot({
      what: name,
      expected: "'exponential', 'linear', 'fixed' or { type, base, max, jitter }",
      got,
    }),
    { details: { got } },
  );
}

/**
 * The wait before the next try, in whole ms, after `failures` failed attempts (from 1).
 * Full length: exponential base × 2^(n−1), linear base × n, fixed base; never above the maximum.
 * With jitter the wait is random × full length ("full jitter" of the AWS architecture blog,
 * "Exponential Backoff And Jitter", 2015), so that jobs that failed together do not return together.
 *
 * @param random a number from 0 up to 1, as Math.random gives it
 */
export function retryDelayMs(backoff: ResolvedBackoff, failures: number, random: () => number): number {
  const fullMs = Math.min(backoff.maxMs, growth(backoff, Math.max(failures, 1)));
  return Math.round(backoff.jitter ? random() * fullMs : fullMs);
}

function growth({ type, baseMs }: ResolvedBackoff, failures: number): number {
  switch (type) {
    case 'exponential':
      return baseMs === 0 ? 0 : baseMs * 2 ** (failures - 1);
    case 'linear':
      return baseMs * failures;
    case 'fixed':
      return baseMs;
  }
}
