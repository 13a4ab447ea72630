import { MillraceError } from '../internal/errors.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';
import { encodeInput } from './codec.js';
import type { CostWatch } from './cost-watch.js';
import type { Definitions, DispatchableJob } from './definitions.js';
import { resolveDispatch } from './dispatch-options.js';
import { queueWithin, txOf, type WithinAccess } from './dispatch-within.js';
import type { EnqueueLine } from './enqueue-line.js';
import type { MillraceEvents } from './events.js';
import type { JobDefinition } from './job-definition.js';
import { DispatchedJob, type HandlePorts, type JobHandle } from './job-handle.js';
import { jobWithOptions, plainJob } from './job-template.js';
import type { MaybePromise } from './schema.js';
import { closedError } from './storage-access.js';

export interface DispatcherOptions {
  readonly definitions: Definitions;
  readonly line: EnqueueLine;
  readonly access: WithinAccess;
  readonly events: TypedEvents<MillraceEvents>;
  readonly handles: HandlePorts;
  readonly maxPayloadBytes: number;
  readonly costs: CostWatch;
}

/** What a dispatch on behalf of another client says of the job beyond options: facts of that client's definition. */
export interface ForeignFacts {
  /** Of the payload; where it is not that of the definition here, no schema here is asked. */
  readonly version?: number | undefined;
  readonly retentionMs?: number | undefined;
}

/** Turns what a caller gives into jobs, and what storage answers into handles. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  #isClosed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Refuses every further dispatch. */
  close(): void {
    this.#isClosed = true;
  }

  dispatch(
    job: JobDefinition | string,
    input: unknown,
    options?: object,
    facts?: ForeignFacts,
  ): Promise<JobHandle> {
    if (options !== undefined && txOf(options) !== undefined)
      return this.#dispatchWithin(job, input, options);
    try {
      const prepared = this.prepare(job, input, { options, facts });
      return prepared instanceof Promise
        ? prepared.then((ready) => this.#send(ready, options))
        : this.#send(prepared, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * The job as storage takes it; a promise only where a schema is asynchronous.
   *
   * @throws MillraceError for options and inputs that can't be
   */
  prepare(
    job: JobDefinition | string,
    input: unknown,
    {
      options,
      facts = {},
    }: { readonly options?: object | undefined; readonly facts?: ForeignFacts | undefined },
  ): MaybePromise<NewJob> {
    const found = this.find(job);
    const { template, definition } = withFacts(found, facts);
    const resolved = options === undefined ? undefined : resolveDispatch(options, template);
    const payload = encodeInput(definition, input, this.#options.maxPayloadBytes);
    const build = (text: string): NewJob =>
      resolved === undefined
        ? plainJob(template, text, input)
        : jobWithOptions(template, text, { input, options: resolved });
    return payload instanceof Promise ? payload.then(build) : build(payload);
  }

  find(job: JobDefinition | string): DispatchableJob {
    if (this.#isClosed) throw closedError();
    return this.#options.definitions.find(job);
  }

  /** The payload alone: all that is to be known of a job that has no options and is not unique. */
  prepareText({ definition }: DispatchableJob, input: unknown): MaybePromise<string> {
    return encodeInput(definition, input, this.#options.maxPayloadBytes);
  }

  /** @throws MillraceError where storage refused the job */
  handleOf(job: NewJob, outcome: EnqueueOutcome, isKnownRepeat: boolean): JobHandle {
    refuseRefused(job, outcome);
    this.#options.costs.see(job);
    const deduplicated = outcome.outcome !== 'created' && !(isKnownRepeat && outcome.id === job.id);
    const { events, handles } = this.#options;
    if (events.listenerCount('job:dispatched') > 0) {
      events.emit('job:dispatched', { id: outcome.id, name: job.name, queue: job.queue, deduplicated });
    }
    return new DispatchedJob(handles, outcome.id, deduplicated);
  }

  /**
   * Of a job inside a transaction of the user's: never a repeat, and nobody is told of it.
   *
   * @throws MillraceError where storage refused the job
   */
  handleWithin(job: NewJob, outcome: EnqueueOutcome): JobHandle {
    refuseRefused(job, outcome);
    this.#options.costs.see(job);
    return new DispatchedJob(this.#options.handles, outcome.id, outcome.outcome !== 'created');
  }

  async #dispatchWithin(job: JobDefinition | string, input: unknown, options: object): Promise<JobHandle> {
    const queue = await queueWithin(this.#options.access, txOf(options));
    const prepared = await this.prepare(job, input, { options });
    const [outcome] = await queue.enqueue([prepared]);
    return this.handleWithin(prepared, outcome as EnqueueOutcome);
  }

  #send(job: NewJob, options: object | undefined): Promise<JobHandle> {
    const { line } = this.#options;
    const isOwnId = options === undefined || !('id' in options);
    return new Promise((resolve, reject) => {
      const waiting = {
        job,
        deadlineAt: line.deadline(),
        wasSent: false,
        resolve: (outcome: EnqueueOutcome): void => {
          try {
            resolve(this.handleOf(job, outcome, isOwnId || waiting.wasSent));
          } catch (error) {
            reject(error);
          }
        },
        reject,
      };
      line.add(waiting);
    });
  }
}

function withFacts(job: DispatchableJob, { version, retentionMs }: ForeignFacts): DispatchableJob {
  if (version === undefined && retentionMs === undefined) return job;
  const { definition, template } = job;
  const isOtherVersion = version !== undefined && version !== template.version;
  return {
    definition: isOtherVersion ? { ...definition, inputSchema: undefined } : definition,
    template: {
      ...template,
      ...(version === undefined ? {} : { version }),
      ...(retentionMs === undefined ? {} : { retentionMs }),
    },
  };
}

function refuseRefused(job: NewJob, outcome: EnqueueOutcome): void {
  if (outcome.outcome === 'idempotency-conflict' || outcome.outcome === 'parent-not-found') {
    throw refusal(job, outcome);
  }
}

/** What the caller is told of a job that was not taken. */
export function refusal(
  job: NewJob,
  outcome: Extract<EnqueueOutcome, { outcome: 'idempotency-conflict' | 'parent-not-found' }>,
): MillraceError {
  const { id } = outcome;
  if (outcome.outcome === 'parent-not-found') {
    return new MillraceError(
      'parent-not-found',
      `dispatch of job "${job.name}": it was to wait for job ${id}, which does not exist (or was purged). Dispatch that one first, or correct the id`,
      { details: { id: job.id, name: job.name, parentId: id } },
    );
  }
  return new MillraceError(
    'idempotency-conflict',
    `dispatch of job "${job.name}": its idempotency key belongs to job ${id}, which has another name or input. Use a new key for new work`,
    { details: { name: job.name, conflictsWith: id } },
  );
}
