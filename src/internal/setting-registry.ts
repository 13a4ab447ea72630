import { budgetsSetting, hostsSetting, labelsSetting } from './bound-settings.js';
import { hubUrlSetting, secretSetting } from './link-settings.js';
import { logLevels } from './logger.js';
import { PrivateTargets } from './private-targets.js';
import { parseQueueSelection } from './queue-selection.js';
import {
  choiceSetting,
  countSetting,
  durationSetting,
  numberOrWordSetting,
  queueSelectionSetting,
  type Setting,
  type SettingUnit,
  sizeSetting,
  textSetting,
} from './setting-kinds.js';
import { webAddressSetting } from './url-settings.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** More processes than that on one machine only wait for each other. */
export const largestPool = 256;

/** More slots than that in one process only wait for each other. */
export const largestConcurrency = 1000;

/**
 * Every setting: the one list from which code, `millrace settings`, the reference and the warning
 * about unknown variables are made. The key is its name in a config file and, in kebab-case, as a flag.
 */
export const settings = Object.freeze({
  database: textSetting({
    env: 'MILLRACE_DATABASE',
    default: 'sqlite:millrace.db',
    expected: 'sqlite:<file>, postgres://… or mysql://…',
    meaning: 'Where jobs are kept.',
  }),
  databaseTimeout: durationSetting({
    env: 'MILLRACE_DATABASE_TIMEOUT',
    defaultMs: 30 * second,
    minMs: second,
    maxMs: hour,
    meaning:
      'How long one call may wait for the database, retries included, before it fails. A worker goes on trying after that.',
  }),
  hubUrl: hubUrlSetting({
    env: 'HUB_URL',
    meaning:
      'Where workers get their jobs instead of from the database, as in ws://host:8000. Several, with commas: any of them will do, and a worker that lost one tries the next.',
  }),
  workerSecret: secretSetting({
    env: 'WORKER_SECRET',
    meaning: 'The token, of the role worker, by which a worker is known to its hub.',
  }),
  queue: queueSelectionSetting({
    env: 'MILLRACE_QUEUE',
    default: parseQueueSelection('default'),
    meaning:
      'The queues a worker serves. `critical,default`: in strict order, a queue only while those before it have nothing that can run. `critical:6,default:3`: in shares of the jobs. `*`: all there are, in equal shares; `*,!reports`: all but these.',
  }),
  concurrency: countSetting({
    env: 'MILLRACE_CONCURRENCY',
    default: 10,
    min: 1,
    max: largestConcurrency,
    unit: 'count',
    meaning: 'How many jobs a worker runs at once.',
  }),
  maxConcurrent: numberOrWordSetting({
    env: 'MAX_CONCURRENT',
    default: 'none',
    word: 'none',
    min: 1,
    max: largestConcurrency,
    whole: true,
    meaning:
      'How many jobs a worker runs at once over all its lanes, in place of the concurrency and of lanes reckoned by processors: process and browser lanes that are asked for are filled first, inline gets the rest.',
  }),
  processLanes: numberOrWordSetting({
    env: 'MILLRACE_PROCESS_LANES',
    default: 'auto',
    word: 'auto',
    min: 0,
    max: 64,
    whole: true,
    meaning:
      'How many child processes a worker runs jobs with lane "process" in, one job each. auto: by the CPU budget where a job asks for one, else none.',
  }),
  browserLanes: numberOrWordSetting({
    env: 'MILLRACE_BROWSER_LANES',
    default: 0,
    word: 'auto',
    min: 0,
    max: 64,
    whole: true,
    meaning:
      'How many Chromes a worker runs jobs with lane "browser" beside, one job each. auto: by the CPU budget and by memory.',
  }),
  chromePath: textSetting({
    env: 'CHROME_PATH',
    default: 'auto',
    expected: 'the path of a Chrome or Chromium, or auto',
    meaning:
      'The Chrome of browser lanes. auto: headless shell, Chromium, Chrome or Edge on this machine, else the one of the npm package @sparticuz/chromium.',
  }),
  browserPrivateTargets: textSetting({
    env: 'BROWSER_PRIVATE_TARGETS',
    default: 'none',
    expected:
      'none, all, or a list of hosts, addresses and networks such as intranet.example, 10.1.0.0/16, localhost:3000',
    fits: (text) => PrivateTargets.parse(text) !== null,
    meaning:
      'What pages in browser lanes may reach that is not of the public internet: private, loopback and link-local addresses, and services that tell a cloud machine its secrets. Hubs that the worker is connected to stay closed.',
  }),
  workerCpuBudget: numberOrWordSetting({
    env: 'WORKER_CPU_BUDGET',
    default: 'auto',
    word: 'auto',
    min: 0.1,
    max: 4096,
    whole: false,
    meaning:
      'How many cores a worker may reckon with when it sizes its lanes. auto: the smallest of every cgroup quota, cpuset and the affinity.',
  }),
  workerLaneCores: countSetting({
    env: 'WORKER_LANE_CORES',
    default: 4,
    min: 1,
    max: 1024,
    unit: 'count',
    meaning: 'How many cores one process or browser lane is reckoned to need.',
  }),
  workerMaxLanes: countSetting({
    env: 'WORKER_MAX_LANES',
    default: 2,
    min: 1,
    max: 64,
    unit: 'count',
    meaning: 'The most lanes of a kind that are made by the CPU budget.',
  }),
  laneMaxMemory: sizeSetting({
    env: 'MILLRACE_LANE_MAX_MEMORY',
    defaultBytes: 512 * 1024 ** 2,
    minBytes: 128 * 1024 ** 2,
    maxBytes: 1024 ** 4,
    meaning:
      'How much resident memory the child of a process lane may take; above it the child is killed and replaced, and its job counts a death.',
  }),
  workers: numberOrWordSetting({
    env: 'MILLRACE_WORKERS',
    default: 'none',
    word: 'none',
    min: 1,
    max: largestPool,
    whole: true,
    meaning:
      'How many worker processes `millrace work` keeps. none: one, unless a maximum of workers is given.',
  }),
  minWorkers: numberOrWordSetting({
    env: 'MILLRACE_MIN_WORKERS',
    default: 'none',
    word: 'none',
    min: 1,
    max: largestPool,
    whole: true,
    meaning: 'The least worker processes of a pool that follows its backlog; needs a maximum.',
  }),
  maxWorkers: numberOrWordSetting({
    env: 'MILLRACE_MAX_WORKERS',
    default: 'none',
    word: 'none',
    min: 1,
    max: largestPool,
    whole: true,
    meaning: 'The most worker processes of a pool that follows its backlog.',
  }),
  targetWait: durationSetting({
    env: 'MILLRACE_TARGET_WAIT',
    defaultMs: 0,
    minMs: 0,
    maxMs: day,
    meaning:
      'Sizes an adaptive pool by the time to clear its backlog: due jobs × their average duration ÷ lanes. 0: by the number of due jobs.',
  }),
  workerPoolScaleInterval: durationSetting({
    env: 'MILLRACE_WORKER_POOL_SCALE_INTERVAL',
    defaultMs: 5 * second,
    minMs: 100,
    maxMs: hour,
    meaning: 'How often an adaptive pool looks at its backlog.',
  }),
  workerPoolIdleGrace: durationSetting({
    env: 'MILLRACE_WORKER_POOL_IDLE_GRACE',
    defaultMs: 15 * second,
    minMs: 0,
    maxMs: day,
    meaning: 'How long an adaptive pool must have had no backlog before it shrinks.',
  }),
  labels: labelsSetting({
    env: 'MILLRACE_LABELS',
    meaning:
      'What a worker has to offer, as in gpu,eu: it runs jobs that require some of it, and those that require nothing.',
  }),
  queueCostBudgets: budgetsSetting({
    env: 'RESOURCE_QUEUE_COST_BUDGETS',
    meaning:
      'How much the running jobs of a queue may cost together, as in mail=20,reports=5. The same for all workers of a database.',
  }),
  groupCostBudgets: budgetsSetting({
    env: 'RESOURCE_GROUP_COST_BUDGETS',
    meaning:
      'How much the running jobs of a group may cost together, over all its keys, as in smtp=20. The same for all workers of a database.',
  }),
  attempts: countSetting({
    env: 'MILLRACE_ATTEMPTS',
    default: 3,
    min: 1,
    max: 1000,
    unit: 'count',
    meaning: 'How many failed attempts a job that does not say may have before it is buried.',
  }),
  retryBackoff: choiceSetting({
    env: 'MILLRACE_RETRY_BACKOFF',
    default: 'exponential',
    choices: ['exponential', 'linear', 'fixed'],
    meaning:
      'How the wait before a retry grows for a job that does not say. The default waits a random part of min(1 h, 5 s × 2^(n−1)) after the n-th failure.',
  }),
  maxExecutionTime: durationSetting({
    env: 'MILLRACE_MAX_EXECUTION_TIME',
    defaultMs: 300 * second,
    minMs: 100,
    maxMs: 30 * day,
    meaning: 'The time limit of an attempt of a job without a timeout.',
  }),
  killGrace: durationSetting({
    env: 'MILLRACE_KILL_GRACE',
    defaultMs: 5 * second,
    minMs: 0,
    maxMs: hour,
    meaning:
      'How long a handler may go on after its signal has fired before its attempt is ended without it.',
  }),
  blockedTimeout: durationSetting({
    env: 'MILLRACE_BLOCKED_TIMEOUT',
    defaultMs: 300 * second,
    minMs: 2 * second,
    maxMs: day,
    meaning:
      'How long the main loop of `millrace work` may be blocked by a handler before the process ends itself with 75, so that a new one is started.',
  }),
  staleTimeout: durationSetting({
    env: 'MILLRACE_STALE_TIMEOUT',
    defaultMs: 45 * second,
    minMs: second,
    maxMs: day,
    meaning:
      'The length of a lease: how long a job stays with a worker that gives no sign of life. At least three heartbeats.',
  }),
  heartbeat: durationSetting({
    env: 'MILLRACE_HEARTBEAT',
    defaultMs: 15 * second,
    minMs: 100,
    maxMs: hour,
    meaning:
      'How often a worker says that it lives and renews its leases. A quarter of WORKER_TTL is used when that is shorter.',
  }),
  workerTtl: durationSetting({
    env: 'WORKER_TTL',
    defaultMs: 120 * second,
    minMs: second,
    maxMs: day,
    meaning: 'How long after its last sign of life a worker is shown as offline.',
  }),
  staleReap: durationSetting({
    env: 'WORKER_STALE_REAP_S',
    defaultMs: 300 * second,
    minMs: second,
    maxMs: 30 * day,
    meaning: 'How long a worker must have been silent before its registration is forgotten.',
  }),
  reapInterval: durationSetting({
    env: 'WORKER_REAP_INTERVAL_S',
    defaultMs: 60 * second,
    minMs: 100,
    maxMs: day,
    meaning: 'How often silent registrations are looked for.',
  }),
  reconnectGiveup: durationSetting({
    env: 'WORKER_RECONNECT_GIVEUP_S',
    defaultMs: 0,
    minMs: 0,
    maxMs: 365 * day,
    meaning: 'Reserved, and ignored: a worker that lost its database tries to reach it for ever.',
  }),
  stateDir: textSetting({
    env: 'MILLRACE_STATE_DIR',
    default: '.millrace',
    expected: 'a folder that can be written',
    meaning:
      'Where `millrace work` keeps the ids of its workers over restarts; beside the config file unless it is an absolute path. In containers a volume of its own.',
  }),
  recycleAfterJobs: numberOrWordSetting({
    env: 'WORKER_RECYCLE_AFTER_JOBS',
    default: 'auto',
    word: 'auto',
    min: 0,
    max: 1_000_000_000,
    whole: true,
    meaning:
      'After how many ended attempts `millrace work` drains and ends, so that a fresh process takes its place; 0 is never. auto: 1000, or 200 behind a hub, once the process is 10 minutes old.',
  }),
  workerMaxMemory: numberOrWordSetting({
    env: 'MILLRACE_WORKER_MAX_MEMORY',
    default: 'auto',
    word: 'auto',
    min: 0,
    max: 16_777_216,
    whole: true,
    meaning:
      'At how many MB of resident memory `millrace work` does the same; 0 is never. auto: 75 % of the memory of the machine or container, once the process is 10 minutes old.',
  }),
  workerSleep: durationSetting({
    env: 'MILLRACE_WORKER_SLEEP',
    defaultMs: second,
    minMs: 10,
    maxMs: hour,
    meaning: 'How long an idle worker waits before it looks for jobs by itself, should a wake-up get lost.',
  }),
  stopTimeout: durationSetting({
    env: 'MILLRACE_STOP_TIMEOUT',
    defaultMs: 25 * second,
    minMs: 0,
    maxMs: day,
    meaning:
      'How long running jobs may go on after TERM or INT; then they are aborted and put back without being charged an attempt.',
  }),
  files: textSetting({
    env: 'MILLRACE_FILES',
    default: 'auto',
    expected: 'a folder that can be written, or auto',
    meaning:
      'Where the files of jobs are kept; one folder for all workers and hubs of a database. auto: the folder `files` in the state folder.',
  }),
  maxFile: sizeSetting({
    env: 'MILLRACE_MAX_FILE',
    defaultBytes: 1024 ** 3,
    minBytes: 1024,
    maxBytes: 1024 ** 4,
    meaning: 'The largest file that a job may keep.',
  }),
  maxJobFiles: sizeSetting({
    env: 'MILLRACE_MAX_JOB_FILES',
    defaultBytes: 10 * 1024 ** 3,
    minBytes: 1024,
    maxBytes: 1024 ** 4,
    meaning: 'How much all files of one job may be together.',
  }),
  maxPayload: sizeSetting({
    env: 'MILLRACE_MAX_PAYLOAD',
    defaultBytes: 1024 ** 2,
    minBytes: 1024,
    maxBytes: 1024 ** 2,
    meaning: 'The largest input and the largest result of a job, as JSON. Larger data belongs in files.',
  }),
  resourceAdmission: choiceSetting({
    env: 'MILLRACE_RESOURCE_ADMISSION',
    default: 'on',
    choices: ['on', 'off'],
    meaning:
      'Whether a job waits while its handler, judged by its recent attempts, needs more memory or time than there is. Limits and budgets hold either way.',
  }),
  resourceProfileWindowMinutes: countSetting({
    env: 'MILLRACE_RESOURCE_PROFILE_WINDOW_MINUTES',
    default: 60,
    min: 1,
    max: 1_440,
    unit: 'count',
    meaning: 'Over how many minutes the attempts of a handler are averaged.',
  }),
  resourceProfileTtl: durationSetting({
    env: 'MILLRACE_RESOURCE_PROFILE_TTL',
    defaultMs: 30 * second,
    minMs: 100,
    maxMs: hour,
    meaning: 'How long a worker goes by the averages that it has read.',
  }),
  resourceMemoryHeadroomMb: countSetting({
    env: 'MILLRACE_RESOURCE_MEMORY_HEADROOM_MB',
    default: 16,
    min: 0,
    max: 1_048_576,
    unit: 'count',
    meaning: 'MB that stay free of what a worker itself may use, before an inline job starts.',
  }),
  resourceSystemMemoryAwareness: choiceSetting({
    env: 'MILLRACE_RESOURCE_SYSTEM_MEMORY_AWARENESS',
    default: 'on',
    choices: ['on', 'off'],
    meaning: 'Whether the memory of the container or machine is asked before a job starts.',
  }),
  resourceSystemMemoryHeadroomMb: countSetting({
    env: 'MILLRACE_RESOURCE_SYSTEM_MEMORY_HEADROOM_MB',
    default: 32,
    min: 0,
    max: 1_048_576,
    unit: 'count',
    meaning: 'MB that stay free of the memory of the container or machine, before a job starts.',
  }),
  resourceTimeHeadroomMs: countSetting({
    env: 'MILLRACE_RESOURCE_TIME_HEADROOM_MS',
    default: 5_000,
    min: 0,
    max: 3_600_000,
    unit: 'count',
    meaning:
      'Ms that are added to the average of a handler before `work --once` or `tick` starts a job within the time it has left.',
  }),
  retentionDays: countSetting({
    env: 'MILLRACE_RETENTION_DAYS',
    default: 7,
    min: 0,
    max: 36_500,
    unit: 'days',
    meaning: 'How long completed and cancelled jobs are kept. Buried ones stay until they are purged.',
  }),
  logRetentionDays: countSetting({
    env: 'MILLRACE_LOG_RETENTION_DAYS',
    default: 30,
    min: 0,
    max: 36_500,
    unit: 'days',
    meaning: 'How long the log lines of jobs are kept.',
  }),
  hubHost: textSetting({
    env: 'HUB_HOST',
    default: '127.0.0.1',
    expected: 'an address of this machine such as 127.0.0.1, ::1 or 0.0.0.0',
    meaning: 'On which address `millrace hub` listens.',
  }),
  hubPort: countSetting({
    env: 'HUB_PORT',
    default: 8000,
    min: 0,
    max: 65_535,
    unit: 'count',
    meaning: 'On which port `millrace hub` listens; 0 is any that is free.',
  }),
  hubAdvertiseUrl: webAddressSetting({
    env: 'HUB_ADVERTISE_URL',
    meaning: 'Where other hubs of the same database reach this one.',
  }),
  hubAllowedHosts: hostsSetting({
    env: 'HUB_ALLOWED_HOSTS',
    meaning:
      'Names under which a hub answers beside those of this machine and the one it listens on, as in jobs.example.com: of a proxy, of a service in a network of containers. Pages of these names may also change things.',
  }),
  hubRateLimit: numberOrWordSetting({
    env: 'HUB_RATE_LIMIT',
    default: 1000,
    word: 'none',
    min: 1,
    max: 1_000_000,
    whole: true,
    meaning:
      'How many requests a second a hub takes from one address, and with one token; twice as many at once after a pause.',
  }),
  hubMaxConnections: countSetting({
    env: 'HUB_MAX_CONNECTIONS',
    default: 1000,
    min: 1,
    max: 1_000_000,
    unit: 'count',
    meaning: 'How many connections a hub takes from one address, and sockets with one token.',
  }),
  logLevel: choiceSetting({
    env: 'MILLRACE_LOG_LEVEL',
    default: 'info',
    choices: logLevels,
    meaning: 'The least important lines that a command writes to its log.',
  }),
  logFormat: choiceSetting({
    env: 'MILLRACE_LOG_FORMAT',
    default: 'text',
    choices: ['text', 'json'],
    meaning: 'Whether a command logs lines for people or JSON objects.',
  }),
} satisfies Record<string, Setting<unknown, SettingUnit>>);

type Registry = typeof settings;

/** The name of a setting in a config file: `killGrace`. */
export type SettingName = keyof Registry;

/** What of a setting's value is known by its name: `killGraceMs`, `maxPayloadBytes`, `concurrency`. */
export type ResolvedName<Name extends SettingName> = Registry[Name]['unit'] extends 'ms'
  ? `${Name}Ms`
  : Registry[Name]['unit'] extends 'bytes'
    ? `${Name}Bytes`
    : Name;

/** All settings after defaults, by resolved name. Frozen. */
export type SettingValues = {
  readonly [Name in SettingName as ResolvedName<Name>]: ReturnType<Registry[Name]['parse']>;
};

/** The names of all settings, in the order of the reference. */
export const settingNames = Object.freeze(Object.keys(settings) as SettingName[]);

/** `killGrace` is known as `killGraceMs` once resolved. */
export function resolvedName<Name extends SettingName>(name: Name): ResolvedName<Name> {
  const { unit } = settings[name];
  const suffix = unit === 'ms' ? 'Ms' : unit === 'bytes' ? 'Bytes' : '';
  return `${name}${suffix}` as ResolvedName<Name>;
}

/** Flags that are not named as their setting is. */
const ownFlags: Partial<Record<SettingName, string>> = {
  hubHost: '--host',
  hubPort: '--port',
  hubUrl: '--hub',
};

/** The flag of a setting: `killGrace` is `--kill-grace`. */
export function settingFlag(name: SettingName): string {
  const own = ownFlags[name];
  if (own !== undefined) return own;
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** How often a worker beats, in ms: its heartbeat, or a quarter of WORKER_TTL when that is shorter. */
export function heartbeatIntervalMs(values: Pick<SettingValues, 'heartbeatMs' | 'workerTtlMs'>): number {
  return Math.min(values.heartbeatMs, Math.floor(values.workerTtlMs / 4));
}
