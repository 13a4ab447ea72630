import { describeValue } from '../internal/describe-value.js';
import type { Duration } from '../internal/duration.js';
import { parseDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import { guardedLogger, type Logger, silentLogger } from '../internal/logger.js';
import { nearestName } from '../internal/nearest-name.js';
import {
  resolveSettings,
  type SettingName,
  type SettingValues,
  settingNames,
  settings,
} from '../internal/settings.js';
import { parseDatabaseUrl } from '../storage/database-url.js';
import type { Storage, StorageClock } from '../storage/storage.js';
import type { JobDefinition } from './job-definition.js';

type Registry = typeof settings;

/** What a setting can be in code: durations and sizes also as texts. */
export type SettingOption<Name extends SettingName> = Registry[Name]['unit'] extends 'ms'
  ? Duration
  : Registry[Name]['unit'] extends 'bytes' | 'list'
    ? ReturnType<Registry[Name]['parse']> | string
    : ReturnType<Registry[Name]['parse']>;

/** Settings given in code. They go before the environment. */
export type SettingOptions = {
  readonly [Name in Exclude<SettingName, 'database'>]?: SettingOption<Name> | undefined;
};

export interface MillraceOptions<Jobs extends readonly JobDefinition[] = readonly JobDefinition[]>
  extends SettingOptions {
  /**
   * Where jobs are kept: `sqlite:<file>`, `postgres://…`, `mysql://…`, `memory:`, or a storage of your own, which is
   * opened on first use and stays yours to close. @default MILLRACE_DATABASE, else 'sqlite:millrace.db'
   */
  readonly database?: string | Storage | undefined;
  /** The jobs that can be dispatched by name and that workers of this process run. @default none */
  readonly jobs?: Jobs | undefined;
  /** Told what happens. @default silent */
  readonly logger?: Logger | undefined;
  /** How long a dispatch is repeated while the database can't be reached. @default '10s' */
  readonly dispatchTimeout?: Duration | undefined;
  /** Servers: `auto` brings the schema up to date on first use; else `millrace migrate` does. @default 'check' */
  readonly migrate?: 'auto' | 'check' | undefined;
  /** Moves the database's time, for tests. */
  readonly clock?: StorageClock | undefined;
  /** Settings that were resolved before, instead of the environment and of any given here. */
  readonly settings?: SettingValues | undefined;
}

export interface ResolvedMillraceOptions {
  readonly database: string | Storage;
  readonly jobs: readonly unknown[];
  readonly logger: Logger;
  readonly dispatchTimeoutMs: number;
  readonly migrate: 'auto' | 'check';
  readonly clock: StorageClock | undefined;
  readonly settings: SettingValues;
}

const ownKeys = ['database', 'jobs', 'logger', 'dispatchTimeout', 'migrate', 'clock', 'settings'] as const;
const defaultDispatchTimeoutMs = 10_000;

/** @throws MillraceError `option-unknown`, `option-invalid`, `settings-invalid`, `database-url-invalid` */
export function resolveOptions(
  options: MillraceOptions,
  env: Readonly<Record<string, string | undefined>>,
): ResolvedMillraceOptions {
  const { database, jobs = [], dispatchTimeout, migrate = 'check', clock } = options;
  const logger = options.logger === undefined ? silentLogger : guardedLogger(options.logger);
  const settings = options.settings ?? settingsOf(options, env, logger);
  const where = database ?? settings.database;
  if (typeof where === 'string') parseDatabaseUrl(where);
  else if (!isStorage(where)) throw invalid('database', 'an address or a storage', where);
  if (clock !== undefined && typeof where !== 'string') {
    throw invalid('clock', 'none beside a storage of your own, which is made with its clock', clock);
  }
  if (!Array.isArray(jobs)) throw invalid('jobs', 'a list of what defineJob() made', jobs);
  if (migrate !== 'auto' && migrate !== 'check') throw invalid('migrate', "'auto' or 'check'", migrate);
  return Object.freeze({
    database: where,
    jobs,
    logger,
    dispatchTimeoutMs:
      dispatchTimeout === undefined
        ? defaultDispatchTimeoutMs
        : parseDuration(dispatchTimeout, { name: 'option "dispatchTimeout"', min: 1 }),
    migrate,
    clock,
    settings,
  });
}

/** What is given in code hides the environment: a client that names its database in a test must get that one. */
function settingsOf(
  options: MillraceOptions,
  env: Readonly<Record<string, string | undefined>>,
  logger: Logger,
): SettingValues {
  const given = Object.entries(options).filter(
    ([key, value]) => value !== undefined && !(ownKeys as readonly string[]).includes(key),
  );
  const unknown = given.map(([key]) => key).filter((key) => !settingNames.includes(key as SettingName));
  if (unknown.length > 0) throw unknownOptions(unknown);
  const hidden = new Set<string>(given.map(([key]) => settings[key as SettingName].env));
  const visible = Object.entries(env).filter(([name]) => !hidden.has(name));
  const { values, warnings } = resolveSettings({
    config: Object.fromEntries(given),
    env: Object.fromEntries(visible),
  });
  for (const warning of warnings) logger.warn(warning);
  return values;
}

function unknownOptions(keys: readonly string[]): MillraceError {
  const known = [...ownKeys, ...settingNames];
  const texts = keys.map((key) => {
    const nearest = nearestName(key, known);
    return `there is no option "${key}"${nearest === undefined ? '' : `. Did you mean "${nearest}"?`}`;
  });
  return new MillraceError('option-unknown', `options of Millrace: ${texts.join('; ')}`, {
    details: { keys, problems: texts },
  });
}

function isStorage(value: unknown): value is Storage {
  return typeof value === 'object' && value !== null && 'enqueue' in value && 'claim' in value;
}

function invalid(name: string, expected: string, got: unknown): MillraceError {
  return new MillraceError(
    'option-invalid',
    `option "${name}": expected ${expected}, got ${describeValue(got)}`,
  );
}
