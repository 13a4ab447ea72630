import { type ResolvedBackoff, resolveBackoff } from '../core/backoff.js';
import { defaultQueue } from '../core/queue-name.js';
import { sha256Hex } from '../internal/hash.js';
import { canonicalJson } from '../internal/json.js';
import type { SettingValues } from '../internal/settings.js';
import { uuidv7 } from '../internal/uuid.js';
import type { NewJob } from '../storage/new-job.js';
import { type DressesBrowser, dressBrowser, parseBrowserOptions } from './browser-options.js';
import type { ResolvedDispatch } from './dispatch-options.js';
import type { JobContext } from './job-context.js';
import { type JobDefinition, type RunnableJob, versionOf } from './job-definition.js';
import { limitOf, type ResolvedLimit } from './limit-option.js';
import { type ResolvedUnique, storableKey, uniqueKeyOf } from './unique-option.js';

/** The settings that a definition falls back to. */
export type JobDefaults = Pick<SettingValues, 'attempts' | 'retryBackoff' | 'maxExecutionTimeMs'>;

/** What every job of a definition has in common, worked out once. */
export interface JobTemplate {
  readonly name: string;
  readonly queue: string;
  readonly version: number;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly maxAttempts: number;
  readonly retentionMs: number | null;
  readonly unique: ResolvedUnique | null;
  readonly limit: ResolvedLimit | null;
  readonly cost: number;
  readonly requires: readonly string[];
}

const dueNow: NewJob['due'] = Object.freeze({ inMs: 0 });

export function templateOf(definition: JobDefinition, defaults: JobDefaults): JobTemplate {
  return {
    name: definition.name,
    queue: definition.queue ?? defaultQueue,
    version: versionOf(definition),
    tags: definition.tags,
    priority: definition.priority,
    maxAttempts: definition.maxAttempts ?? defaults.attempts,
    retentionMs: definition.retentionMs,
    unique: definition.unique,
    limit: definition.limit,
    cost: definition.cost,
    requires: definition.requires,
  };
}

/** The definition as a worker runs it, or null when it has no code here. */
export function runnableOf(definition: JobDefinition, defaults: JobDefaults): RunnableJob | null {
  const { run } = definition;
  if (run === undefined) return null;
  const backoff: ResolvedBackoff = definition.backoff ?? resolveBackoff(defaults.retryBackoff);
  return Object.freeze({
    ...definition,
    queue: definition.queue ?? defaultQueue,
    maxAttempts: definition.maxAttempts ?? defaults.attempts,
    backoff,
    timeoutMs: definition.timeoutMs ?? defaults.maxExecutionTimeMs,
    // On the definition itself, for a handler that says `this`.
    run: (context: Parameters<RunnableJob['run']>[0]) => {
      const dressed = dress(definition, context);
      return dressed === null
        ? run.call(definition, context)
        : dressed.then(() => run.call(definition, context));
    },
  });
}

/** Null: there is nothing to do, and a handler that is not asynchronous is to stay so. */
function dress({ browser }: JobDefinition, context: JobContext<unknown>): Promise<void> | null {
  if (browser === undefined) return null;
  const options =
    typeof browser === 'function' ? parseBrowserOptions(browser(context.input as never)) : browser;
  return (context as Partial<DressesBrowser>)[dressBrowser]?.(options) ?? null;
}

/** Whether nothing of a job is worked out of its input. */
export function isPlainTemplate({ unique, limit }: JobTemplate): boolean {
  return unique === null && typeof limit?.key !== 'function';
}

/** A job without any option: the common case, and the fast one. */
export function plainJob(template: JobTemplate, payload: string, input: unknown): NewJob {
  return {
    id: uuidv7(),
    name: template.name,
    queue: template.queue,
    payload,
    version: template.version,
    tags: template.tags,
    priority: template.priority,
    due: dueNow,
    maxAttempts: template.maxAttempts,
    retentionMs: template.retentionMs,
    unique: template.unique === null ? null : uniqueKeyOf(template.name, template.unique, input),
    idempotency: null,
    after: null,
    limit: template.limit === null ? null : limitOf(template.name, template.limit, input),
    cost: template.cost,
    requires: template.requires,
  };
}

export function jobWithOptions(
  template: JobTemplate,
  payload: string,
  { input, options }: { readonly input: unknown; readonly options: ResolvedDispatch },
): NewJob {
  const unique = options.unique === undefined ? template.unique : options.unique;
  const limit = options.limit === undefined ? template.limit : options.limit;
  return {
    id: options.id ?? uuidv7(),
    name: template.name,
    queue: options.queue ?? template.queue,
    payload,
    version: template.version,
    tags: options.tags ?? template.tags,
    priority: options.priority ?? template.priority,
    due: options.due ?? dueNow,
    maxAttempts: options.maxAttempts ?? template.maxAttempts,
    retentionMs: template.retentionMs,
    unique: unique === null ? null : uniqueKeyOf(template.name, unique, input),
    idempotency:
      options.idempotencyKey === undefined
        ? null
        : {
            key: storableKey('', options.idempotencyKey),
            inputHash: sha256Hex(`${template.name}\n${canonicalJson(input)}`),
          },
    after: options.after,
    limit: limit === null ? null : limitOf(template.name, limit, input),
    cost: options.cost ?? template.cost,
    requires: options.requires ?? template.requires,
  };
}
