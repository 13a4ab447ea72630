import { describeValue } from '../internal/describe-value.js';
import type { Duration } from '../internal/duration.js';
import { parseDuration } from '../internal/duration.js';
import { hasErrorCode } from '../internal/errors.js';
import { guardedLogger, type Logger, silentLogger } from '../internal/logger.js';
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
import { OptionProblems } from './option-problems.js';

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
  const problems = new OptionProblems('options of Millrace');
  const given = problems.takeObject(options);
  problems.checkKeys(given, [...ownKeys, ...settingNames]);
  const { jobs = [], dispatchTimeout, migrate = 'check', clock } = options;
  const logger = options.logger === undefined ? silentLogger : guardedLogger(options.logger);
  const settings = options.settings ?? settingsOf(given, env, { logger, problems });
  const database = databaseOption(options.database ?? settings?.database, clock, problems);
  if (!Array.isArray(jobs)) problems.add(refused('jobs', 'a list of what defineJob() made', jobs));
  if (migrate !== 'auto' && migrate !== 'check') {
    problems.add(refused('migrate', "'auto' or 'check'", migrate));
  }
  const dispatchTimeoutMs =
    dispatchTimeout === undefined
      ? defaultDispatchTimeoutMs
      : problems.attempt(
          () => parseDuration(dispatchTimeout, { name: 'option "dispatchTimeout"', min: 1 }),
          defaultDispatchTimeoutMs,
        );
  problems.throwIfAny();
  // Without a problem there are both.
  const resolved = { database: database as string | Storage, settings: settings as SettingValues };
  return Object.freeze({ ...resolved, jobs, logger, dispatchTimeoutMs, migrate, clock });
}

function databaseOption(
  where: string | Storage | undefined,
  clock: StorageClock | undefined,
  problems: OptionProblems,
): string | Storage | undefined {
  if (where === undefined) return undefined;
  if (typeof where === 'string') problems.attempt(() => parseDatabaseUrl(where), null);
  else if (!isStorage(where)) problems.add(refused('database', 'an address or a storage', where));
  else if (clock !== undefined) {
    problems.add(refused('clock', 'none beside a storage of your own, which is made with its clock', clock));
  }
  return where;
}

/** What is given in code hides the environment: a client that names its database in a test must get that one. */
function settingsOf(
  options: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
  { logger, problems }: { readonly logger: Logger; readonly problems: OptionProblems },
): SettingValues | undefined {
  const given = Object.entries(options).filter(
    ([key, value]) => value !== undefined && key !== 'database' && settingNames.includes(key as SettingName),
  );
  const hidden = new Set<string>(given.map(([key]) => settings[key as SettingName].env));
  const visible = Object.entries(env).filter(([name]) => !hidden.has(name));
  try {
    const { values, warnings } = resolveSettings({
      config: Object.fromEntries(given),
      inCode: true,
      env: Object.fromEntries(visible),
    });
    for (const warning of warnings) logger.warn(warning);
    return values;
  } catch (error) {
    if (!hasErrorCode(error, 'settings-invalid')) throw error;
    for (const text of error.details['problems'] as string[]) problems.add(text, 'settings-invalid');
    return undefined;
  }
}

function isStorage(value: unknown): value is Storage {
  return typeof value === 'object' && value !== null && 'enqueue' in value && 'claim' in value;
}

const refused = (name: string, expected: string, got: unknown): string =>
  `option "${name}": expected ${expected}, got ${describeValue(got)}`;
