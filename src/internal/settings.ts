import { formatDuration } from './duration.js';
import { isMillraceError, MillraceError } from './errors.js';
import { nearestName } from './nearest-name.js';
import type { Setting, SettingUnit } from './setting-kinds.js';
import {
  heartbeatIntervalMs,
  resolvedName,
  type SettingName,
  type SettingValues,
  settingFlag,
  settingNames,
  settings,
} from './setting-registry.js';

export {
  heartbeatIntervalMs,
  largestConcurrency,
  resolvedName,
  type SettingName,
  type SettingValues,
  settingFlag,
  settingNames,
  settings,
} from './setting-registry.js';

/** Where a value came from, the strongest first. */
export type SettingSource = 'flag' | 'environment' | 'config' | 'default';

export interface SettingInputs {
  /** Values of the command line by setting name; undefined means not given. @default none */
  readonly flags?: Readonly<Record<string, unknown>> | undefined;
  /** The environment, `process.env` as a rule; an empty variable counts as not set. @default none */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Values of a config file or of options by setting name. @default none */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  /** Whether `config` was given in code, for the messages. @default false */
  readonly inCode?: boolean | undefined;
}

export interface ResolvedSettings {
  /** Frozen. Durations end in `Ms`, sizes in `Bytes`. */
  readonly values: SettingValues;
  readonly sources: Readonly<Record<SettingName, SettingSource>>;
  /** For the log: variables with our prefix that nothing reads. */
  readonly warnings: readonly string[];
}

interface Given {
  readonly raw: unknown;
  readonly source: Exclude<SettingSource, 'default'>;
  /** How the user knows the place: `MILLRACE_QUEUE`, `--queue`, `queue in the config`. */
  readonly place: string;
}

/**
 * The settings in force: flag before environment before config before default.
 *
 * @throws MillraceError `settings-invalid` with every problem found: one in a sentence, more one a line;
 *   `details.problems` has them as a list
 */
export function resolveSettings(inputs: SettingInputs): ResolvedSettings {
  const problems: string[] = [...unknownKeys(inputs)];
  const wrong = new Set<SettingName>();
  const values: Record<string, unknown> = {};
  const sources: Partial<Record<SettingName, SettingSource>> = {};
  for (const name of settingNames) {
    const given = findGiven(name, inputs);
    const before = problems.length;
    sources[name] = given?.source ?? 'default';
    values[resolvedName(name)] = given === undefined ? settings[name].default : parse(name, given, problems);
    if (problems.length > before) wrong.add(name);
  }
  if (!leaseSettings.some((name) => wrong.has(name))) {
    problems.push(...contradictions(values as SettingValues));
  }
  if (problems.length > 0) throw settingsInvalid(problems);
  return Object.freeze({
    values: Object.freeze(values) as SettingValues,
    sources: Object.freeze(sources as Record<SettingName, SettingSource>),
    warnings: Object.freeze([...unknownVariables(inputs.env ?? {}), ...ignored(sources)]),
  });
}

function findGiven(name: SettingName, { flags, env, config, inCode }: SettingInputs): Given | undefined {
  const flag = ownValue(flags, name);
  if (flag !== undefined) return { raw: flag, source: 'flag', place: settingFlag(name) };
  const variable = settings[name].env;
  const text = ownValue(env, variable);
  if (text !== undefined && text !== '') return { raw: text, source: 'environment', place: variable };
  const option = ownValue(config, name);
  const place = inCode === true ? `option "${name}"` : `${name} in the config`;
  if (option !== undefined) return { raw: option, source: 'config', place };
  return undefined;
}

function ownValue(record: Readonly<Record<string, unknown>> | undefined, key: string): unknown {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}

function parse(name: SettingName, given: Given, problems: string[]): unknown {
  const setting: Setting<unknown, SettingUnit> = settings[name];
  try {
    return setting.parse(given.raw, given.source !== 'config');
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const message = mayHoldSecret(name, given) ? `expected ${setting.expected}` : error.message;
    problems.push(`${given.place}: ${message}`);
    return setting.default;
  }
}

/** An address has a password in it as a rule; one of nothing but blanks has none. */
function mayHoldSecret(name: SettingName, { raw }: Given): boolean {
  return name === 'database' && (typeof raw !== 'string' || raw.trim() !== '');
}

function unknownKeys({ flags, config }: SettingInputs): string[] {
  const problems: string[] = [];
  const known = new Set<string>(settingNames);
  for (const [key, value] of Object.entries(flags ?? {})) {
    if (value !== undefined && !known.has(key))
      problems.push(`flag ${key}: there is no such setting${meant(key)}`);
  }
  for (const [key, value] of Object.entries(config ?? {})) {
    if (value !== undefined && !known.has(key)) {
      problems.push(`${key} in the config: there is no such setting${meant(key)}`);
    }
  }
  return problems;
}

function meant(key: string): string {
  const nearest = nearestName(key, settingNames);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

const leaseSettings: readonly SettingName[] = ['staleTimeout', 'heartbeat', 'workerTtl'];

/** Settings that are each possible, but not together. */
function contradictions(values: SettingValues): string[] {
  const problems: string[] = [];
  const beatMs = heartbeatIntervalMs(values);
  if (values.staleTimeoutMs < 3 * beatMs) {
    const { heartbeat, workerTtl } = settings;
    const cap =
      beatMs < values.heartbeatMs
        ? ` (${heartbeat.env} is ${formatDuration(values.heartbeatMs)}, but a worker beats at least every quarter of ${workerTtl.env}, ${formatDuration(values.workerTtlMs)})`
        : '';
    problems.push(
      `${settings.staleTimeout.env} (${formatDuration(values.staleTimeoutMs)}) is shorter than three heartbeats of ${formatDuration(beatMs)}${cap}, so a healthy worker could lose its jobs. Raise it to ${formatDuration(3 * beatMs)} or lower ${settings.heartbeat.env}`,
    );
  }
  return problems;
}

function settingsInvalid(problems: readonly string[]): MillraceError {
  const [only = ''] = problems;
  const list = problems.map((line) => `  ${line}`).join('\n');
  const message = problems.length === 1 ? only : `${problems.length} settings cannot be used:\n${list}`;
  return new MillraceError('settings-invalid', message, {
    details: { problems: Object.freeze([...problems]) },
  });
}

function ignored(sources: Partial<Record<SettingName, SettingSource>>): string[] {
  const { env } = settings.reconnectGiveup;
  return sources.reconnectGiveup === 'default'
    ? []
    : [`${env} is ignored: a worker that lost its database tries to reach it for ever`];
}

/** What operators know from elsewhere under another name. */
const renamed: Readonly<Record<string, string>> = {
  MILLRACE_WORKER_MAX_JOBS: settings.recycleAfterJobs.env,
};

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>(settingNames.map((name) => settings[name].env));
  return Object.keys(env)
    .filter((name) => name.startsWith('MILLRACE_') && !name.startsWith('MILLRACE_TEST_') && !known.has(name))
    .sort()
    .map((name) => {
      const nearest = renamed[name] ?? nearestName(name, known);
      const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
      return `${name} is set, but there is no such setting${hint}`;
    });
}
