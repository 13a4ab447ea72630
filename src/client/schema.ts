import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describeValue } from '../internal/describe-value.js';
import type { ErrorCode } from '../internal/error-codes.js';
import { MillraceError } from '../internal/errors.js';

export type MaybePromise<T> = T | Promise<T>;

const mostIssues = 20;

/** Whether a value has the shape of a Standard Schema, version 1. Functions count: some libraries' schemas are callable. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const props: unknown = (value as Record<string, unknown>)['~standard'];
  return (
    typeof props === 'object' &&
    props !== null &&
    (props as Record<string, unknown>)['version'] === 1 &&
    typeof (props as Record<string, unknown>)['validate'] === 'function'
  );
}

export interface CheckOptions {
  /** What is validated, for the message: `input of job "thumbnail"`. */
  readonly what: string;
  readonly code: ErrorCode;
}

/**
 * What the schema makes of a value: at once, or as a promise when the schema is asynchronous.
 *
 * @throws MillraceError of the given code, listing the issues; whatever the schema itself throws
 */
export function checkWithSchema<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  options: CheckOptions,
): MaybePromise<Output> {
  const answer = schema['~standard'].validate(value);
  return isPromiseLike(answer)
    ? Promise.resolve(answer).then((result) => outputOf(result, value, options))
    : outputOf(answer, value, options);
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function outputOf<Output>(
  result: StandardSchemaV1.Result<Output>,
  value: unknown,
  { what, code }: CheckOptions,
): Output {
  if (result.issues === undefined || result.issues === null) return result.value;
  const issues = result.issues.slice(0, mostIssues).map(issueText);
  const more = result.issues.length > mostIssues ? `; and ${result.issues.length - mostIssues} more` : '';
  throw new MillraceError(
    code,
    `${what} does not fit its schema: ${issues.join('; ')}${more}. Got ${describeValue(value)}.`,
    { details: { issues: Object.freeze(issues) } },
  );
}

function issueText(issue: StandardSchemaV1.Issue): string {
  let path = '$';
  for (const segment of issue.path ?? []) {
    const key = typeof segment === 'object' ? segment.key : segment;
    path += typeof key === 'number' ? `[${key}]` : `.${String(key)}`;
  }
  return `${path}: ${issue.message}`;
}
