import { parseJobName } from '../core/job-name.js';
import { isJobStatus, type JobStatus, jobStatuses } from '../core/job-status.js';
import { parseTag } from '../core/job-tags.js';
import { parseQueueName } from '../core/queue-name.js';
import { describeValue } from '../internal/describe-value.js';
import { parseDuration } from '../internal/duration.js';
import type { JobFilter } from '../storage/job-record.js';
import { momentOf } from './due-option.js';
import type { OptionProblems } from './option-problems.js';

/** A moment: a Date, epoch ms, an ISO 8601 text with its time zone, or how long ago, as in `'2h'`. */
export type Moment = Date | number | string;

/** Which jobs are meant: those for which all that is given holds. */
export interface JobsWhere {
  readonly status?: JobStatus | undefined;
  readonly queue?: string | undefined;
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
  /** Stands in the message of the last failure, in capitals or not. */
  readonly errorText?: string | undefined;
  /** Id of the worker that holds the job, or held it last. */
  readonly worker?: string | undefined;
  readonly createdAfter?: Moment | undefined;
  readonly createdBefore?: Moment | undefined;
  /** Only jobs that have ended fit. */
  readonly finishedAfter?: Moment | undefined;
  readonly finishedBefore?: Moment | undefined;
}

export const whereKeys = [
  'status',
  'queue',
  'name',
  'tag',
  'errorText',
  'worker',
  'createdAfter',
  'createdBefore',
  'finishedAfter',
  'finishedBefore',
] as const satisfies readonly (keyof JobsWhere)[];

const moments = ['createdAfter', 'createdBefore', 'finishedAfter', 'finishedBefore'] as const;

/** A filter whose "so long ago" waits for the database's clock. */
export interface ResolvedWhere {
  readonly filter: JobFilter;
  readonly ago: Readonly<Partial<Record<(typeof moments)[number], number>>>;
}

/** @param within what stands before a key in messages, as in `where.` */
export function resolveWhere(
  given: Readonly<Record<string, unknown>>,
  problems: OptionProblems,
  within = '',
): ResolvedWhere {
  const { status, queue, name, tag } = given;
  if (status !== undefined && !isJobStatus(status)) {
    problems.add(
      `option "${within}status": expected one of ${jobStatuses.join(', ')}, got ${describeValue(status)}`,
    );
  }
  const optional = <T>(value: unknown, parse: () => T): T | undefined =>
    value === undefined ? undefined : problems.attempt(parse, undefined);
  const wishes = {
    status: isJobStatus(status) ? status : undefined,
    queue: optional(queue, () => parseQueueName(queue)),
    name: optional(name, () => parseJobName(name)),
    tag: optional(tag, () => parseTag(tag, `option "${within}tag"`)),
    errorText: textOption(`${within}errorText`, given['errorText'], problems),
    worker: textOption(`${within}worker`, given['worker'], problems),
  };
  const at: Record<string, number> = {};
  const ago: Record<string, number> = {};
  for (const key of moments) {
    const value = given[key];
    if (value === undefined) continue;
    const atMs = momentOf(value);
    if (atMs !== null) at[`${key}Ms`] = atMs;
    else ago[key] = agoOption(`${within}${key}`, value, problems);
  }
  return { filter: { ...withoutUndefined(wishes), ...at }, ago };
}

function textOption(name: string, value: unknown, problems: OptionProblems): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  problems.add(`option "${name}": expected a text that is not empty, got ${describeValue(value)}`);
  return undefined;
}

function agoOption(name: string, value: unknown, problems: OptionProblems): number {
  if (typeof value === 'string') {
    const ms = problems.attempt(() => parseDuration(value, { name: `option "${name}"` }), null);
    if (ms !== null) return ms;
  } else {
    const expected =
      "a valid Date, epoch milliseconds, a text such as 2030-01-31T08:00:00Z, or '2h' for two hours ago";
    problems.add(`option "${name}": expected ${expected}, got ${describeValue(value)}`);
  }
  return 0;
}

/** @param now asked only where the filter says how long ago */
export async function filterOf(
  { filter, ago }: ResolvedWhere,
  now: () => Promise<number>,
): Promise<JobFilter> {
  const entries = Object.entries(ago);
  if (entries.length === 0) return filter;
  const nowMs = await now();
  return { ...filter, ...Object.fromEntries(entries.map(([key, ms]) => [`${key}Ms`, nowMs - ms])) };
}

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Defined<T>;
}
