import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OptionProblems } from '../client/option-problems.js';
import type { LaneWish } from '../core/lane-sizing.js';
import { describeValue } from '../internal/describe-value.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { parseLabels } from '../internal/labels.js';
import { parseHubUrls } from '../internal/link-settings.js';
import { parseQueueSelection, type QueueSelection } from '../internal/queue-selection.js';
import { largestConcurrency } from '../internal/settings.js';

export interface WorkerOptions {
  /**
   * Which queues, as a text or a list of its parts. `'critical,default'`: strict, a queue is served only while those before
   * it have nothing that can run. `'critical:6,default:3'`: shares of the jobs, whole numbers from 1 to 1000. `'*'`: all
   * there are, in equal shares; `'*,!reports'`: all but these. The parsed form takes every name as it is.
   *
   * @default 'default'
   */
  readonly queues?: string | readonly string[] | QueueSelection;
  /** Jobs at once, 1 … 1000. @default 10 */
  readonly concurrency?: number;
  /** How long running jobs may go on after `stop`; then they are aborted and put back. @default MILLRACE_STOP_TIMEOUT, 25 s */
  readonly stopTimeout?: Duration;
  /** Whether this process also recovers expired leases and cleans up. Leave it on unless others surely do. @default true */
  readonly duties?: boolean;
  /**
   * The module that makes this worker and its client, `import.meta.url` there: child processes of process lanes load it.
   * Needed where a job has `lane: 'process'`. @default none; the commands pass the config
   */
  readonly module?: string | URL;
  /** How many process lanes, 0 … 64, or `auto`: by the CPU budget where a job asks for one. @default MILLRACE_PROCESS_LANES, 'auto' */
  readonly processLanes?: LaneWish;
  /**
   * How many browser lanes, each with a Chrome of its own, 0 … 64, or `auto`: by the CPU budget and by memory.
   *
   * @default MILLRACE_BROWSER_LANES, 0
   */
  readonly browserLanes?: LaneWish;
  /**
   * A folder in which the worker keeps its id over restarts, so that one that crashed gets its jobs back at its next
   * start and not when their leases lapse. A folder may serve many workers. @default none: a new id for each object
   */
  readonly stateDir?: string;
  /** Starts the worker anew, in place, after so many ended attempts. @default never */
  readonly recycleAfterJobs?: number;
  /** What it has to offer jobs that require it, as a list or a text with commas. @default MILLRACE_LABELS, none */
  readonly labels?: string | readonly string[];
  /**
   * Takes jobs from a hub and not from the database, which is then not opened: `'ws://host:8000'`, or several of which any
   * will do. `'none'`: from the database. @default HUB_URL, none
   */
  readonly hub?: string | readonly string[];
  /** The token by which the hub knows it, of the role worker. @default WORKER_SECRET, none */
  readonly token?: string;
}

export interface ResolvedWorkerOptions {
  readonly queues: QueueSelection;
  readonly concurrency: number;
  readonly stopTimeoutMs: number;
  readonly duties: boolean;
  /** A `file:` address. */
  readonly module: string | null;
  readonly processLanes: LaneWish;
  readonly browserLanes: LaneWish;
  readonly stateDir: string | null;
  /** Null: never. */
  readonly recycleAfterJobs: number | null;
  /** Sorted. */
  readonly labels: readonly string[];
  /** Null: jobs come from the database. The token may be empty. */
  readonly hub: { readonly urls: readonly string[]; readonly token: string } | null;
}

const noLabels: readonly string[] = [];
const defaultQueues = parseQueueSelection('default');
const known: readonly (keyof WorkerOptions)[] = [
  'queues',
  'concurrency',
  'stopTimeout',
  'duties',
  'module',
  'processLanes',
  'browserLanes',
  'stateDir',
  'recycleAfterJobs',
  'labels',
  'hub',
  'token',
];

/** @throws MillraceError `option-unknown`, `option-invalid` or `queue-name-invalid`, listing every problem */
export function resolveWorkerOptions(
  options: WorkerOptions,
  defaults: { readonly stopTimeoutMs: number },
): ResolvedWorkerOptions {
  const problems = new OptionProblems('options of a worker');
  const given = problems.takeObject(options);
  problems.checkKeys(given, known);
  const { concurrency = 10, duties = true, stopTimeout = defaults.stopTimeoutMs } = given;
  const { stateDir = null, recycleAfterJobs = null } = given;
  const isCount = typeof concurrency === 'number' && Number.isInteger(concurrency);
  if (!isCount || concurrency < 1 || concurrency > largestConcurrency) {
    problems.add(
      `option "concurrency": expected a whole number from 1 to ${largestConcurrency}, got ${describeValue(concurrency)}`,
    );
  }
  if (typeof duties !== 'boolean') {
    problems.add(`option "duties": expected true or false, got ${describeValue(duties)}`);
  }
  const queues = problems.attempt(() => parseQueueSelection(given.queues ?? 'default'), defaultQueues);
  if (stateDir !== null && (typeof stateDir !== 'string' || stateDir === '' || stateDir.includes('\0'))) {
    problems.add(`option "stateDir": expected the path of a folder, got ${describeValue(stateDir)}`);
  }
  const isJobCount = Number.isInteger(recycleAfterJobs) && (recycleAfterJobs as number) >= 1;
  if (recycleAfterJobs !== null && !isJobCount) {
    problems.add(
      `option "recycleAfterJobs": expected a whole number from 1, got ${describeValue(recycleAfterJobs)}`,
    );
  }
  const stopTimeoutMs = problems.attempt(
    () => parseDuration(stopTimeout, { name: 'option "stopTimeout"' }),
    defaults.stopTimeoutMs,
  );
  const module = moduleOption(given['module'], problems);
  const processLanes = laneOption('processLanes', given['processLanes'] ?? 'auto', problems);
  const browserLanes = laneOption('browserLanes', given['browserLanes'] ?? 0, problems);
  const { labels: givenLabels = noLabels } = given;
  const labels = problems.attempt(() => parseLabels(givenLabels, 'option "labels"'), noLabels);
  const hub = hubOption(given, problems);
  problems.throwIfAny();
  return Object.freeze({
    queues,
    concurrency: concurrency as number,
    stopTimeoutMs,
    duties: duties as boolean,
    module,
    processLanes,
    browserLanes,
    stateDir: stateDir as string | null,
    recycleAfterJobs: recycleAfterJobs as number | null,
    labels,
    hub,
  });
}

function hubOption(
  given: Readonly<Record<string, unknown>>,
  problems: OptionProblems,
): ResolvedWorkerOptions['hub'] {
  const { hub = 'none', token = '' } = given;
  const urls = Array.isArray(hub) && hub.length === 0 ? [] : parseHubUrls(hub);
  if (urls === null) {
    problems.add(
      `option "hub": expected addresses of hubs as in ws://host:8000, without user, password and query, got ${describeValue(hub)}`,
    );
  }
  if (typeof token !== 'string' || !/^[\x21-\x7e]{0,200}$/.test(token)) {
    // What was given may be nearly the secret, so it is not repeated.
    problems.add('option "token": expected a text of at most 200 printable characters, got something else');
    return null;
  }
  return urls === null || urls.length === 0 ? null : { urls, token };
}

/** As the setting has it. */
const mostLanes = 64;

function laneOption(name: string, value: unknown, problems: OptionProblems): LaneWish {
  if (isLaneWish(value)) return value;
  problems.add(
    `option "${name}": expected auto, or a whole number from 0 to ${mostLanes}, got ${describeValue(value)}`,
  );
  return 0;
}

const isLaneWish = (value: unknown): value is LaneWish =>
  value === 'auto' ||
  (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostLanes);

function moduleOption(value: unknown, problems: OptionProblems): string | null {
  if (value === undefined) return null;
  const text = value instanceof URL ? value.href : value;
  if (typeof text === 'string' && text.startsWith('file:')) return text;
  if (typeof text === 'string' && isAbsolute(text)) return pathToFileURL(text).href;
  problems.add(
    `option "module": expected the address of a file, such as import.meta.url, got ${describeValue(text)}`,
  );
  return null;
}
