import { parseJobName } from '../core/job-name.js';
import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import { nearestName } from '../internal/nearest-name.js';
import { builtInJobs } from './built-in-jobs.js';
import { defineJob } from './define-job.js';
import { isJobDefinition, type JobDefinition, type RunnableJob } from './job-definition.js';
import { type JobDefaults, type JobTemplate, runnableOf, templateOf } from './job-template.js';

/** A definition, and what every dispatch of it has in common. */
export interface DispatchableJob {
  readonly definition: JobDefinition;
  readonly template: JobTemplate;
}

/** The jobs that a client knows, by name, and those it is handed with a dispatch. */
export class Definitions {
  /** Those with code: what a worker of this client runs. */
  readonly runnable: ReadonlyMap<string, RunnableJob>;
  readonly #byName = new Map<string, DispatchableJob>();
  readonly #byDefinition = new WeakMap<JobDefinition, DispatchableJob>();
  readonly #defaults: JobDefaults;
  readonly #isOpenToNames: boolean;

  /** @throws MillraceError `option-invalid`, `job-name-duplicate` */
  constructor(jobs: readonly unknown[], defaults: JobDefaults) {
    this.#defaults = defaults;
    const runnable = new Map<string, RunnableJob>();
    for (const job of jobs) {
      if (!isJobDefinition(job)) throw notADefinition(job);
      if (this.#byName.has(job.name)) throw duplicate(job.name);
      this.#byName.set(job.name, this.#of(job));
      const withCode = runnableOf(job, defaults);
      if (withCode !== null) runnable.set(job.name, withCode);
    }
    this.runnable = runnable;
    this.#isOpenToNames = jobs.length === 0;
  }

  /**
   * What to dispatch. A client that was given no jobs takes any name: its jobs are known elsewhere.
   *
   * @throws MillraceError `job-name-unknown`, `job-name-invalid`, `option-invalid`
   */
  find(job: JobDefinition | string): DispatchableJob {
    if (typeof job !== 'string') return this.#byDefinition.get(job) ?? this.#of(job);
    const known = this.#byName.get(job);
    if (known !== undefined) return known;
    const builtIn = builtInJobs.get(job);
    if (builtIn !== undefined) return this.#byDefinition.get(builtIn) ?? this.#of(builtIn);
    if (!this.#isOpenToNames) throw this.#unknown(job);
    const declared = this.#of(defineJob(parseJobName(job), {}));
    // Bounded, since names can come from outside.
    if (this.#byName.size < 10_000) this.#byName.set(job, declared);
    return declared;
  }

  /** The definition of this name, if this client was given one. */
  known(name: string): JobDefinition | undefined {
    return this.#isOpenToNames ? undefined : this.#byName.get(name)?.definition;
  }

  /** The code to run for a job, and null when there is none here. */
  runnableOf(job: JobDefinition | string): RunnableJob | null {
    const { definition } = this.find(job);
    return runnableOf(definition, this.#defaults);
  }

  /** What a worker with browser lanes runs: also built-in jobs, but for names that this client has for its own. */
  runnableWithBuiltIns(): ReadonlyMap<string, RunnableJob> {
    const all = new Map(this.runnable);
    for (const [name, definition] of builtInJobs) {
      const runnable = this.#byName.has(name) ? null : runnableOf(definition, this.#defaults);
      if (runnable !== null) all.set(name, runnable);
    }
    return all;
  }

  #of(definition: JobDefinition): DispatchableJob {
    if (!isJobDefinition(definition)) throw notADefinition(definition);
    const dispatchable = { definition, template: templateOf(definition, this.#defaults) };
    this.#byDefinition.set(definition, dispatchable);
    return dispatchable;
  }

  #unknown(name: string): MillraceError {
    const nearest = nearestName(name, this.#byName.keys());
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    return new MillraceError(
      'job-name-unknown',
      `no job ${describeValue(name)} is defined in this client.${hint} A job that runs elsewhere is declared by adding defineJob(${describeValue(name)}, {}) to jobs`,
      { details: { name } },
    );
  }
}

function notADefinition(got: unknown): MillraceError {
  return new MillraceError(
    'option-invalid',
    `job: expected what defineJob() made, or a job name, got ${describeValue(got)}`,
  );
}

function duplicate(name: string): MillraceError {
  return new MillraceError('job-name-duplicate', `jobs: "${name}" is defined twice. Give one another name`, {
    details: { name },
  });
}
