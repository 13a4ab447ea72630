import { parseArgs } from 'node:util';
import { QUEUES } from './peers/catalog.mjs';

export const ENGINES = ['sqlite-full', 'sqlite-normal', 'postgres', 'mysql'];
export const WORKS = [
  'raw',
  'dispatch',
  'drain',
  'latency',
  'lanes',
  'limits',
  'start',
  'idle',
  'hub',
  'backlog',
  'million',
];

/** What is measured of other queues: the works that each of them can do. */
export const PEER_WORKS = ['dispatch', 'drain', 'latency', 'backlog'];
const PEER_ENGINES = ['sqlite-full', 'sqlite-normal', 'postgres'];
const PEER_NAMES = [...QUEUES.filter(({ isOurs }) => !isOurs).map(({ name }) => name), 'none'];

export const HELP = `Usage: npm run bench -- [options]

  --engine LIST   ${ENGINES.join(', ')}; sqlite stands for both, mariadb for mysql (default: all that are to be had)
  --work LIST     ${WORKS.join(', ')} (default: all)
  --reps N        repetitions, of which the median is told (default 3)
  --n N           jobs of a plain drain and of a bulk dispatch (default 20000)
  --quick         everything once and very small: shows that the benchmark works, says nothing of speed
  --json          rows as JSON lines on standard output instead of the report
  --save          also writes bench/results.jsonl and bench/RESULTS.md
  --peers         other queues and ours instead, taking turns; installs them on demand (--work: ${PEER_WORKS.join(', ')})
  --queue LIST    with --peers, those beside ours: ${PEER_NAMES.join(', ')} (default: all)
  --browser       browser lanes and other crawlers instead, over a local site; installs them on demand (--save: bench/browser/)
  --gate N        wait at most so many seconds for a quiet machine before each measurement (default 6)

Servers: MILLRACE_BENCH_POSTGRES and MILLRACE_BENCH_MYSQL name them; else those that the tests use. BullMQ runs where
MILLRACE_BENCH_REDIS, else redis://127.0.0.1:6379, can be reached.
Example: npm run bench -- --engine postgres --work drain,latency --reps 1`;

const FULL_SIZES = {
  one: { 'sqlite-full': 3_000, 'sqlite-normal': 20_000, postgres: 3_000, mysql: 3_000 },
  inFlight: 10_000,
  latencyJobs: 200,
  latencyGapMs: 40,
  latencyRestMs: 1_000,
  laneJobs: 2_000,
  limitJobs: 20_000,
  limitHead: 100_000,
  starts: 2,
  idleWorkers: 100,
  idleProcesses: 4,
  idleRestMs: 2_500,
  idleHeartbeatMs: 15_000,
  idleWindowMs: 15_000,
  hubJobs: 10_000,
  hubWorkers: [1, 4, 16],
  hubIdle: 500,
  hubRestMs: 5_000,
  hubWindowMs: 30_000,
  backlog: 200_000,
  million: 1_000_000,
  rawInsert: 3_000,
  rawRows: 100_000,
};

const PEER_SIZES = {
  one: 2_000,
  oneSlow: 1_000,
  inFlight: 5_000,
  inFlightSlow: 2_000,
  slow: 3_000,
  latencyJobs: 80,
  latencyGapMs: 25,
  latencyRestMs: 1_200,
  backlog: 200_000,
  cutMs: 6_000,
};

const PEER_QUICK_SIZES = {
  one: 20,
  oneSlow: 20,
  inFlight: 100,
  inFlightSlow: 60,
  slow: 100,
  latencyJobs: 5,
  latencyGapMs: 10,
  latencyRestMs: 100,
  backlog: 2_000,
  cutMs: 30_000,
};

const BROWSER_SIZES = { pages: 200, heavyRounds: 5, kills: 40, freezes: 10, memoryJobs: 500 };
const BROWSER_QUICK_SIZES = { pages: 6, heavyRounds: 1, kills: 2, freezes: 1, memoryJobs: 6 };

const QUICK_SIZES = {
  one: { 'sqlite-full': 20, 'sqlite-normal': 20, postgres: 20, mysql: 20 },
  inFlight: 200,
  latencyJobs: 5,
  latencyGapMs: 10,
  latencyRestMs: 100,
  laneJobs: 50,
  limitJobs: 300,
  limitHead: 500,
  starts: 1,
  idleWorkers: 6,
  idleProcesses: 2,
  idleRestMs: 100,
  idleHeartbeatMs: 300,
  idleWindowMs: 1_000,
  hubJobs: 300,
  hubWorkers: [1, 2],
  hubIdle: 10,
  hubRestMs: 200,
  hubWindowMs: 500,
  backlog: 2_000,
  million: 3_000,
  rawInsert: 20,
  rawRows: 2_000,
};

/** @throws Error with one sentence for what can't be */
export function parseOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      engine: { type: 'string' },
      work: { type: 'string' },
      reps: { type: 'string' },
      n: { type: 'string' },
      gate: { type: 'string' },
      queue: { type: 'string' },
      peers: { type: 'boolean', default: false },
      browser: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { quick, peers } = values;
  if (values.queue !== undefined && !peers) throw new Error('--queue: expected together with --peers');
  if (values.browser) return browserOptions(values);
  const works = peers ? PEER_WORKS : WORKS;
  const sizes = peers ? [PEER_SIZES, PEER_QUICK_SIZES] : [FULL_SIZES, QUICK_SIZES];
  return {
    isPeers: peers,
    queues: listOf(values.queue, PEER_NAMES, '--queue') ?? null,
    engines: values.engine === undefined ? null : enginesOf(values.engine, peers ? PEER_ENGINES : ENGINES),
    works: listOf(values.work, works, '--work') ?? works,
    reps: countOf(values.reps, quick ? 1 : 3, '--reps'),
    gateMs: countOf(values.gate, quick ? 0 : 6, '--gate', 0) * 1_000,
    sizes: { ...sizes[quick ? 1 : 0], n: countOf(values.n, quick ? 500 : 20_000, '--n') },
    isQuick: quick,
    json: values.json,
    save: values.save,
    help: values.help,
  };
}

/** @throws Error with one sentence for what goes with other runs only */
function browserOptions({ quick, reps, json, save, help, ...others }) {
  for (const name of ['engine', 'work', 'n', 'queue', 'peers', 'gate'])
    if (others[name]) throw new Error(`--${name}: expected without --browser`);
  return {
    isBrowser: true,
    isPeers: false,
    reps: countOf(reps, quick ? 1 : 3, '--reps'),
    sizes: quick ? BROWSER_QUICK_SIZES : BROWSER_SIZES,
    isQuick: quick,
    ...{ json, save, help },
  };
}

function enginesOf(text, known) {
  const names = text.split(',').flatMap((name) => {
    if (name === 'sqlite') return ['sqlite-full', 'sqlite-normal'];
    return name === 'mariadb' ? ['mysql'] : [name];
  });
  return listOf(names.join(','), known, '--engine');
}

function listOf(text, known, option) {
  if (text === undefined) return undefined;
  const names = text.split(',');
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`${option}: expected some of ${known.join(', ')}, got ${unknown.join(', ')}`);
  }
  return names;
}

function countOf(text, otherwise, option, least = 1) {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`${option}: expected a whole number from ${least} on, got ${text}`);
}
