import { describeValue } from '../internal/describe-value.js';
import { parseDuration } from '../internal/duration.js';
import type { NewJob } from '../storage/new-job.js';
import type { OptionProblems } from './option-problems.js';

/** What a JavaScript date can hold. */
const latestMs = 8_640_000_000_000_000;
/** A text without a zone would mean another time on another machine. */
const zonedTimePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/i;

/** The due time of `delay` or `runAt`; undefined where neither is given. */
export function dueOption(
  { delay, runAt }: Readonly<Record<string, unknown>>,
  problems: OptionProblems,
): NewJob['due'] | undefined {
  if (delay !== undefined && runAt !== undefined) {
    problems.add('options "delay" and "runAt" contradict each other. Give one of them');
    return undefined;
  }
  if (delay !== undefined) {
    return problems.attempt(() => ({ inMs: parseDuration(delay, { name: 'option "delay"' }) }), undefined);
  }
  if (runAt === undefined) return undefined;
  const atMs = momentOf(runAt);
  if (atMs !== null) return { atMs };
  problems.add(
    `option "runAt": expected a valid Date, epoch milliseconds or a text such as 2030-01-31T08:00:00Z, got ${describeValue(runAt)}`,
  );
  return undefined;
}

/** The epoch ms of a Date, a number or an ISO 8601 text with its time zone; null for anything else. */
export function momentOf(value: unknown): number | null {
  let atMs = Number.NaN;
  if (value instanceof Date) atMs = value.getTime();
  else if (typeof value === 'number') atMs = Math.round(value);
  else if (typeof value === 'string' && zonedTimePattern.test(value)) atMs = Date.parse(value);
  return atMs >= 0 && atMs <= latestMs ? atMs : null;
}
