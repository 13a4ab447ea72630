import type { Duration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import type { QueueSelection } from '../internal/queue-selection.js';
import { settingNames } from '../internal/settings.js';
import { isJobDefinition, type JobDefinition } from './job-definition.js';
import type { SettingOptions } from './millrace-options.js';
import { OptionProblems } from './option-problems.js';

/** How `millrace work` and `millrace flush` run. Each is a short form of the setting beside it. */
export interface WorkerConfig {
  /** Which queues, as for `millrace.worker`: strict order, shares or all. @default setting `queue`, 'default' */
  readonly queues?: string | readonly string[] | QueueSelection | undefined;
  /** Jobs at once. @default setting `concurrency`, 10 */
  readonly concurrency?: number | undefined;
  /** What it has to offer jobs that require it. @default setting `labels`, none */
  readonly labels?: string | readonly string[] | undefined;
  /** How long running jobs may go on after a stop. @default setting `stopTimeout`, 25 s */
  readonly stopTimeout?: Duration | undefined;
  /** Whether the worker also recovers expired leases and cleans up. @default true */
  readonly duties?: boolean | undefined;
}

/** What `millrace.config.ts` exports: where jobs are kept, which there are, and any setting by its name. */
export interface MillraceConfig extends SettingOptions {
  /** `sqlite:<file>` (relative to the config file), `postgres://…` or `mysql://…`. @default 'sqlite:millrace.db' */
  readonly database?: string | undefined;
  /** What workers run and what can be dispatched by name. */
  readonly jobs?: readonly JobDefinition[] | undefined;
  readonly worker?: WorkerConfig | undefined;
}

/** A config taken apart: `settings` are not checked yet, the flags and the environment still go before them. */
export interface ParsedConfig {
  readonly jobs: readonly JobDefinition[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly duties: boolean;
}

const settingOfWorkerKey = {
  queues: 'queue',
  concurrency: 'concurrency',
  labels: 'labels',
  stopTimeout: 'stopTimeout',
} as const;
const workerKeys = [...Object.keys(settingOfWorkerKey), 'duties'];

/**
 * The configuration of the commands, with its types. Flags and the environment go before it.
 *
 * @example
 * export default defineConfig({
 *   database: 'sqlite:millrace.db',
 *   jobs: [thumbnail],
 *   worker: { queues: ['critical', 'default'], concurrency: 20 },
 * });
 *
 * @throws MillraceError `config-invalid` with every problem at once
 */
export function defineConfig(config: MillraceConfig): MillraceConfig {
  parseConfig(config, 'config');
  return Object.freeze({ ...config });
}

/** @throws MillraceError `config-invalid` naming `where` */
export function parseConfig(value: unknown, where: string): ParsedConfig {
  const problems = new OptionProblems(where);
  const { jobs = [], worker = {}, ...settings } = problems.takeObject(value);
  problems.checkKeys(settings, ['database', 'jobs', 'worker', ...settingNames]);
  const given = workerSettings(worker, settings, problems);
  if (!Array.isArray(jobs)) problems.add('jobs: expected a list of what defineJob() made');
  else {
    for (const [index, job] of jobs.entries()) {
      if (!isJobDefinition(job)) problems.add(`jobs[${index}]: expected what defineJob() made`);
    }
  }
  try {
    problems.throwIfAny();
  } catch (error) {
    throw new MillraceError('config-invalid', (error as Error).message, { cause: error });
  }
  return {
    jobs: jobs as JobDefinition[],
    settings: { ...settings, ...given.settings },
    duties: given.duties,
  };
}

function workerSettings(
  worker: unknown,
  settings: Readonly<Record<string, unknown>>,
  problems: OptionProblems,
): { settings: Record<string, unknown>; duties: boolean } {
  const given = problems.takeObject(worker);
  problems.checkKeys(given, workerKeys, 'worker.');
  const found: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settingOfWorkerKey)) {
    if (given[key] === undefined) continue;
    if (settings[setting] !== undefined) {
      problems.add(`worker.${key} and ${setting} say the same thing. Keep one of them`);
    }
    found[setting] = given[key];
  }
  const { duties = true } = given;
  if (typeof duties !== 'boolean') problems.add('worker.duties: expected true or false');
  return { settings: found, duties: duties !== false };
}
