import { describeValue } from './describe-value.js';
import { type ErrorCode, errorCodes } from './error-codes.js';

/** The mark by which two copies of the package know each other's errors. */
const brand: unique symbol = Symbol.for('millrace.error') as never;

/** What a `MillraceError` may carry beside its code and message. */
export interface MillraceErrorOptions {
  /** Whether the same call can succeed later. @default what the registry says of the code */
  readonly retryable?: boolean | undefined;
  /** Machine-readable facts: the value that offended, limits, ids. @default {} */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** The error underneath. */
  readonly cause?: unknown;
}

/**
 * The one error class of Millrace. Its `code` is stable and listed in the error reference;
 * its message is for people and may change.
 */
export class MillraceError extends Error {
  override readonly name: string = 'MillraceError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: MillraceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? errorCodes[code].retryable;
    this.details = Object.freeze({ ...options.details });
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether `value` is a `MillraceError`, also one made by another copy of the package. */
export function isMillraceError(value: unknown): value is MillraceError {
  try {
    return typeof value === 'object' && value !== null && Reflect.get(value, brand) === true;
  } catch {
    // A proxy that throws is not one of ours.
    return false;
  }
}

/** Whether `value` is a `MillraceError` with this code. */
export function hasErrorCode(value: unknown, code: ErrorCode): value is MillraceError {
  return isMillraceError(value) && value.code === code;
}

/**
 * The house form of a message: what happened, expected / got / fix.
 * `got` is rendered short and printable; pass secrets masked.
 *
 * @example expectedGot({ what: 'option "timeout"', expected: "a duration such as '30s'", got: 'x' })
 * // option "timeout": expected a duration such as '30s', got "x"
 */
export function expectedGot(parts: {
  readonly what: string;
  readonly expected: string;
  readonly got: unknown;
  readonly fix?: string | undefined;
}): string {
  const line = `${parts.what}: expected ${parts.expected}, got ${describeValue(parts.got)}`;
  return parts.fix === undefined ? line : `${line}. ${parts.fix}`;
}
