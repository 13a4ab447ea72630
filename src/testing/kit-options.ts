import type { JobDefinition } from '../client/job-definition.js';
import { type MillraceOptions, resolveOptions, type SettingOptions } from '../client/millrace-options.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { expectedGot, MillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import type { SettingValues } from '../internal/settings.js';
import type { Storage } from '../storage/storage.js';
import type { IdleRunOptions } from './idle-runner.js';

/** What a kit is made of. Any setting may be given by its name; the environment is not looked at. */
export interface TestKitOptions<Jobs extends readonly JobDefinition[] = readonly JobDefinition[]>
  extends SettingOptions {
  /** The jobs of the application. @default none */
  readonly jobs?: Jobs | undefined;
  /** What the clock shows: a Date, or an ISO 8601 text. @default the time it is */
  readonly now?: Date | string | undefined;
  /** Told what client and worker do. @default silent */
  readonly logger?: Logger | undefined;
  /** How long a dispatch is repeated, in real time, while storage fails. @default '1s' */
  readonly dispatchTimeout?: Duration | undefined;
}

export interface RunOptions {
  /** How long it may take, in real time. @default '4s', under the patience of most test runners */
  readonly timeout?: Duration | undefined;
  /** Queues that go before all others, in strict order. All are served. @default none */
  readonly queues?: readonly string[] | undefined;
  /** Jobs at once. @default setting `concurrency`, 10 */
  readonly concurrency?: number | undefined;
}

const defaultRunTimeout = '4s';
const kitDefaults = {
  dispatchTimeout: '1s',
  /** Real time that a test would wait for nothing: a handler that ignores its signal is given up sooner than in production. */
  killGrace: '100ms',
} as const;

/**
 * What a kit's client is made with.
 *
 * @throws MillraceError as `new Millrace()` does
 */
export function resolveKit<const Jobs extends readonly JobDefinition[]>(
  options: Omit<TestKitOptions<Jobs>, 'now'>,
  database: Storage,
): MillraceOptions<Jobs> {
  const given = { ...kitDefaults, ...options, database };
  const { jobs, logger, dispatchTimeout } = given;
  return { jobs, logger, dispatchTimeout, database, settings: resolveOptions(given, {}).settings };
}

/** @throws MillraceError `option-invalid` */
export function resolveRun(options: RunOptions, settings: SettingValues): IdleRunOptions {
  const { timeout = defaultRunTimeout, queues = [], concurrency = settings.concurrency } = options;
  return {
    timeoutMs: parseDuration(timeout, { name: 'option "timeout"', min: 1 }),
    queues,
    concurrency,
  };
}

/**
 * What the clock of a kit shows at first, epoch ms.
 *
 * @throws MillraceError `option-invalid`
 */
export function startOf(now: Date | string | undefined): number {
  const nowMs = now === undefined ? Date.now() : new Date(now).getTime();
  if (Number.isFinite(nowMs)) return nowMs;
  throw invalid('option "now"', 'a Date, or a text such as 2030-01-31T08:00:00Z', now);
}

export function invalid(what: string, expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', expectedGot({ what, expected, got }));
}
