import type { StandardSchemaV1 } from '@standard-schema/spec';
import { resolveBackoff } from '../core/backoff.js';
import { defaultLane, type JobLane, parseJobLane } from '../core/job-lane.js';
import { parseJobName } from '../core/job-name.js';
import { parseTags } from '../core/job-tags.js';
import { defaultPriority, parsePriority } from '../core/priority.js';
import { parseQueueName } from '../core/queue-name.js';
import { describeValue } from '../internal/describe-value.js';
import { parseDuration } from '../internal/duration.js';
import { parseLabels } from '../internal/labels.js';
import { unbounded } from '../storage/job-limit.js';
import { type BrowserOptions, parseBrowserOptions } from './browser-options.js';
import { brandDefinition, type JobDefinition, type Upcast } from './job-definition.js';
import type {
  HandlerResult,
  JobOptionsWithoutSchema,
  JobOptionsWithSchema,
  OutputOf,
} from './job-options.js';
import { costOption, resolveLimit } from './limit-option.js';
import { OptionProblems } from './option-problems.js';
import type { Outcome } from './outcomes.js';
import { isStandardSchema } from './schema.js';
import { resolveUnique } from './unique-option.js';

export type { JobDefinition } from './job-definition.js';

const known = [
  'input',
  'output',
  'queue',
  'tags',
  'upcast',
  'priority',
  'attempts',
  'backoff',
  'timeout',
  'lane',
  'browser',
  'unique',
  'limit',
  'cost',
  'requires',
  'retention',
  'run',
] as const;

/** Above it a job would rather be a schedule; the setting has the same limit. */
export const mostAttempts = 1000;
const noTags: readonly string[] = Object.freeze([]);
const noLifts: readonly Upcast[] = Object.freeze([]);
/** A node timer's resolution and a database's round trip make less meaningless. */
const shortestTimeoutMs = 1;

/** Of a job whose types are given and not worked out. */
type TypedJobOptions<Input, Output, Lane extends JobLane> = JobOptionsWithoutSchema<
  Input,
  StandardSchemaV1<unknown, Output>,
  Output | Outcome | Promise<Output | Outcome>,
  Lane
>;

/**
 * Defines a kind of job. With an `input` schema the types follow from it; without one, give them as
 * `defineJob<Input>` or by the type of the handler's context.
 *
 * @example
 * const greet = defineJob('greet', {
 *   attempts: 5,
 *   async run({ input }: JobContext<{ name: string }>) {
 *     return `Hello ${input.name}`;
 *   },
 * });
 *
 * @throws MillraceError `job-name-invalid`, `option-unknown`, `option-invalid` with every problem at once
 */
export function defineJob<
  const Name extends string,
  In extends StandardSchemaV1,
  Out extends StandardSchemaV1 | undefined,
  Result extends HandlerResult<Out>,
  Lane extends JobLane = 'inline',
>(
  name: Name,
  options: JobOptionsWithSchema<In, Out, Result, Lane>,
): JobDefinition<
  Name,
  StandardSchemaV1.InferInput<In>,
  StandardSchemaV1.InferOutput<In>,
  OutputOf<Out, Result>
>;
export function defineJob<
  const Name extends string,
  Input,
  Out extends StandardSchemaV1 | undefined,
  Result extends HandlerResult<Out>,
  Lane extends JobLane = 'inline',
>(
  name: Name,
  options: JobOptionsWithoutSchema<Input, Out, Result, Lane>,
): JobDefinition<Name, Input, Input, OutputOf<Out, Result>>;
export function defineJob<Input, Output = unknown>(
  name: string,
  options: TypedJobOptions<Input, Output, 'browser'> & { readonly lane: 'browser' },
): JobDefinition<string, Input, Input, Output>;
export function defineJob<Input, Output = unknown>(
  name: string,
  options: TypedJobOptions<Input, Output, Exclude<JobLane, 'browser'>>,
): JobDefinition<string, Input, Input, Output>;
export function defineJob(name: string, options: object = {}): JobDefinition {
  const jobName = parseJobName(name);
  const problems = new OptionProblems(`options of job "${jobName}"`);
  const given = problems.takeObject(options);
  problems.checkKeys(given, known);
  const definition = resolve(jobName, given, problems);
  problems.throwIfAny();
  return brandDefinition(definition);
}

function resolve(
  name: string,
  given: Readonly<Record<string, unknown>>,
  problems: OptionProblems,
): JobDefinition {
  const { input, output, queue, tags, upcast, priority, attempts, backoff, timeout, lane, retention, run } =
    given;
  const { requires } = given;
  const optional = <T>(value: unknown, parse: () => T): T | undefined =>
    value === undefined ? undefined : problems.attempt(parse, undefined);
  if (run !== undefined && typeof run !== 'function') {
    problems.add(`option "run": expected a function, got ${describeValue(run)}`);
  }
  return {
    name,
    inputSchema: schemaOption('input', input, problems),
    outputSchema: schemaOption('output', output, problems),
    queue: optional(queue, () => parseQueueName(queue)),
    tags: optional(tags, () => parseTags(tags, 'option "tags"')) ?? noTags,
    upcast: upcastOption(upcast, problems),
    priority: optional(priority, () => parsePriority(priority)) ?? defaultPriority,
    maxAttempts: attempts === undefined ? undefined : attemptsOption(attempts, problems),
    backoff: optional(backoff, () => resolveBackoff(backoff as never)),
    timeoutMs: optional(timeout, () =>
      parseDuration(timeout, { name: 'option "timeout"', min: shortestTimeoutMs }),
    ),
    lane: optional(lane, () => parseJobLane(lane)) ?? defaultLane,
    ...browserOption(given, problems),
    retentionMs: optional(retention, () => parseDuration(retention, { name: 'option "retention"' })) ?? null,
    unique: resolveUnique(given['unique'], problems),
    limit: resolveLimit(given['limit'], problems),
    cost: costOption(given['cost'], problems) ?? unbounded.cost,
    requires: optional(requires, () => parseLabels(requires, 'option "requires"')) ?? unbounded.requires,
    ...(typeof run === 'function' ? { run: run as NonNullable<JobDefinition['run']> } : {}),
  };
}

function schemaOption(
  name: string,
  value: unknown,
  problems: OptionProblems,
): StandardSchemaV1<unknown, unknown> | undefined {
  if (value === undefined) return undefined;
  if (isStandardSchema(value)) return value;
  problems.add(
    `option "${name}": expected a Standard Schema (zod, valibot, arktype, …), got ${describeValue(value)}`,
  );
  return undefined;
}

function browserOption(
  { browser, lane }: Readonly<Record<string, unknown>>,
  problems: OptionProblems,
): Pick<JobDefinition, 'browser'> {
  if (browser === undefined) return {};
  if (lane !== 'browser') {
    problems.add(
      `option "browser": expected with lane 'browser', got it with ${describeValue(lane ?? defaultLane)}`,
    );
    return {};
  }
  if (typeof browser === 'function') return { browser: browser as () => BrowserOptions };
  return { browser: problems.attempt(() => parseBrowserOptions(browser), {}) };
}

function upcastOption(value: unknown, problems: OptionProblems): readonly Upcast[] {
  if (value === undefined) return noLifts;
  if (Array.isArray(value) && value.every((lift) => typeof lift === 'function'))
    return Object.freeze([...value]);
  problems.add(
    `option "upcast": expected a list of functions, the first of which lifts version 1, got ${describeValue(value)}`,
  );
  return noLifts;
}

/** A number of attempts; a problem is noted and 1 stands in. */
export function attemptsOption(value: unknown, problems: OptionProblems): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostAttempts)
    return value;
  problems.add(
    `option "attempts": expected a whole number from 1 to ${mostAttempts}, got ${describeValue(value)}`,
  );
  return 1;
}
