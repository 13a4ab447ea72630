import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Backoff } from '../core/backoff.js';
import type { JobLane } from '../core/job-lane.js';
import type { Priority } from '../core/priority.js';
import type { Duration } from '../internal/duration.js';
import type { ContextIn } from './browser-job.js';
import type { BrowserOption } from './browser-options.js';
import type { Upcast } from './job-definition.js';
import type { LimitOption } from './limit-option.js';
import type { Outcome } from './outcomes.js';
import type { UniqueOption } from './unique-option.js';

/** What holds for every job of a definition, unless its dispatch says otherwise. */
export interface CommonJobOptions<Input, Lane extends JobLane = JobLane> {
  /** @default 'default' */
  readonly queue?: string | undefined;
  /** Words to find its jobs by, at most 10, each as a job name may be. @default none */
  readonly tags?: readonly string[] | undefined;
  /**
   * Lifts for payloads that were dispatched before the input changed its shape, oldest first: `[(v1) => v2, (v2) => v3]`.
   * A job carries the version it was dispatched with, which is one more than the number of lifts then; a worker lifts it
   * through the rest of the list before the schema sees it. Only ever add at the end. @default none
   */
  readonly upcast?: readonly Upcast[] | undefined;
  /** 'low', 'normal', 'high', 'urgent' or −100 … 100; higher runs first. @default 'normal' */
  readonly priority?: Priority | undefined;
  /** Failed attempts after which it is buried. @default setting `attempts`, 3 */
  readonly attempts?: number | undefined;
  /** How the wait before a retry grows. @default setting `retryBackoff`, exponential with full jitter */
  readonly backoff?: Backoff | undefined;
  /** Time limit of one attempt. @default setting `maxExecutionTime`, 5 minutes */
  readonly timeout?: Duration | undefined;
  /**
   * Where it runs: `inline` in the worker, `process` in a child process, which a crash, a leak or an endless loop ends
   * alone, or `browser` in the worker beside a Chrome, with a page of its own there. For `process` the worker is told its
   * module, for `browser` how many browser lanes it has. @default 'inline'
   */
  readonly lane?: Lane | undefined;
  /** At most one of the same at a time. @default false */
  readonly unique?: UniqueOption<Input> | undefined;
  /** How many of its group run at once: `{ group: 'smtp', max: 5 }`. @default none */
  readonly limit?: LimitOption<Input> | undefined;
  /** Its weight against the budgets of its queue and group, 1 … 1,000,000. @default 1 */
  readonly cost?: number | undefined;
  /** Labels that a worker must have to run it, all of them; at most 10. @default none */
  readonly requires?: string | readonly string[] | undefined;
  /** How long the job is kept once completed or cancelled. @default setting `retentionDays`, 7 days */
  readonly retention?: Duration | undefined;
}

/** What a handler may answer: the value of the output schema, or an outcome such as `snooze('5m')`. */
export type HandlerResult<Out> = [Out] extends [StandardSchemaV1]
  ? StandardSchemaV1.InferInput<Out> | Outcome | Promise<StandardSchemaV1.InferInput<Out> | Outcome>
  : unknown;

/** What the result of a job is: by its output schema, else by what `run` returns. */
export type OutputOf<Out, Result> = [Out] extends [StandardSchemaV1]
  ? StandardSchemaV1.InferOutput<Out>
  : Exclude<Awaited<Result>, Outcome>;

export interface JobOptionsWithSchema<
  In extends StandardSchemaV1,
  Out,
  Result,
  Lane extends JobLane = 'inline',
> extends CommonJobOptions<StandardSchemaV1.InferInput<In>, Lane> {
  /** What a dispatch takes, as any Standard Schema. Checked at dispatch and again before the handler runs. */
  readonly input: In;
  /** What the handler returns; checked before it is stored. */
  readonly output?: Out;
  /** The code of the job. Leave it out to declare a job that runs elsewhere. */
  run?(context: ContextIn<Lane, StandardSchemaV1.InferOutput<In>>): Result;
  /** With `lane: 'browser'`: how its page appears, or a function of the input that says so. @default as Chrome is */
  readonly browser?: BrowserOption<StandardSchemaV1.InferOutput<In>>;
}

export interface JobOptionsWithoutSchema<Input, Out, Result, Lane extends JobLane = 'inline'>
  extends CommonJobOptions<Input, Lane> {
  readonly input?: undefined;
  /** What the handler returns, as any Standard Schema; checked before it is stored. */
  readonly output?: Out;
  /** The code of the job. Leave it out to declare a job that runs elsewhere. */
  run?(context: ContextIn<Lane, Input>): Result;
  /** With `lane: 'browser'`: how its page appears, or a function of the input that says so. @default as Chrome is */
  readonly browser?: BrowserOption<NoInfer<Input>>;
}
