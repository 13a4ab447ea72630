import type { ClaimRequest, Lease, PeekRequest, Take } from '../../src/storage/claimed-job.js';
import type { ProfileNote } from '../../src/storage/handler-profile.js';
import type { WorkerChange, WorkerReport } from '../../src/storage/worker-record.js';
import { workerReport } from '../support/worker-report.js';
import { type FileOperation, fileWeights, isFileMethod, nextFileOperation } from './file-operations.js';
import { planChangeMany, planEdit } from './generate-changes.js';
import { planSettlements, planTakeBacks } from './generate-endings.js';
import { planJobs } from './generate-jobs.js';
import { type HubOperation, hubWeights, isHubMethod, nextHubOperation } from './hub-operations.js';
import type { Method, Operation } from './operation.js';
import type { Random } from './random.js';
import { halfPast, MINUTE, nextToken, type World } from './world.js';

/** How often each call is made; a run of fifty makes most of them at least once. */
const weights: Readonly<Record<Method, number>> = {
  enqueue: 22,
  claim: 14,
  settle: 10,
  exchange: 5,
  markStarted: 2,
  renew: 2,
  held: 1,
  peek: 2,
  expired: 2,
  takeBack: 6,
  releaseBlocked: 1,
  retry: 5,
  retryBuried: 1.5,
  bury: 2.5,
  cancel: 3.5,
  delete: 2,
  edit: 5,
  changeMany: 4,
  ahead: 2,
  setPaused: 2,
  pausedQueues: 0.5,
  purge: 2,
  purgeTraces: 1,
  job: 1,
  jobs: 3,
  endings: 1,
  idsEndingIn: 0.5,
  stats: 1.5,
  appendLog: 2,
  log: 1,
  register: 1.5,
  heartbeat: 1.5,
  unregister: 0.5,
  workers: 0.5,
  orders: 1,
  changeWorker: 1.5,
  forgetSilent: 0.5,
  audit: 0.5,
  takeDuty: 1,
  releaseDuty: 0.5,
  tidy: 0.5,
  noteProfiles: 1,
  profiles: 1,
  limits: 1,
  queues: 0.5,
  now: 0.3,
  serverUptimeMs: 0.3,
  watch: 0.5,
  ...hubWeights,
  ...fileWeights,
  advance: 12,
};

/** The next call of a run, as likely as not about things that exist. */
export function nextOperation(random: Random, world: World): Operation {
  const method = random.weighted(weights);
  switch (method) {
    case 'enqueue':
      return { method, jobs: planJobs(random, world) };
    case 'claim':
      return { method, request: planClaim(random, world) };
    case 'settle':
      return { method, settlements: planSettlements(random, world) };
    case 'exchange':
      return { method, settlements: planSettlements(random, world), request: planClaim(random, world) };
    case 'markStarted':
      return { method, leases: ofDifferentJobs(random.some(world.leases.slice(-6))) };
    case 'renew':
      return {
        method,
        incarnation: random.pick(world.incarnations),
        leaseMs: halfPast(random.between(0, 3)),
      };
    case 'held':
      return { method, incarnation: random.pick(world.incarnations) };
    case 'peek':
      return { method, request: planPeek(random, world) };
    case 'expired':
      return {
        method,
        expiredForMs: random.pick([0, halfPast(0), halfPast(5)]),
        limit: random.between(1, 4),
      };
    case 'takeBack':
      return { method, decisions: planTakeBacks(random, world) };
    case 'retry':
    case 'bury':
    case 'cancel':
    case 'delete':
    case 'job':
    case 'ahead':
      return { method, id: anId(random, world) };
    case 'edit':
      return { method, id: anId(random, world), edit: planEdit(random, world) };
    case 'changeMany':
      return planChangeMany(random, world);
    case 'retryBuried': {
      const queue = random.chance(0.5) ? random.pick(world.queues) : null;
      return { method, queue, limit: random.pick([1, 2, 100]) };
    }
    case 'setPaused':
      return { method, queue: random.pick(world.queues), paused: random.chance(0.4) };
    default:
      if (isHubMethod(method))
        return nextHubOperation(random, world, { method, report: aReport(random, world) });
      if (isFileMethod(method))
        return nextFileOperation(random, world, { method, id: aLeasedId(random, world) });
      return nextLesserOperation(random, world, method);
  }
}

type LesserMethod = Exclude<
  Method,
  | HubOperation['method']
  | FileOperation['method']
  | 'enqueue'
  | 'claim'
  | 'settle'
  | 'exchange'
  | 'markStarted'
  | 'renew'
  | 'held'
  | 'peek'
  | 'expired'
  | 'takeBack'
  | 'retry'
  | 'bury'
  | 'cancel'
  | 'delete'
  | 'job'
  | 'ahead'
  | 'edit'
  | 'changeMany'
  | 'retryBuried'
  | 'setPaused'
>;

function nextLesserOperation(random: Random, world: World, method: LesserMethod): Operation {
  switch (method) {
    case 'purge': {
      const statuses = random.some(['completed', 'buried', 'cancelled'] as const);
      return { method, statuses, olderThanMs: random.pick([0, halfPast(0), halfPast(10)]) };
    }
    case 'purgeTraces':
      return { method, olderThanMs: random.pick([0, halfPast(5)]) };
    case 'jobs':
      return { method, filter: aFilter(random, world), limit: random.pick([1, 3, 100]) };
    case 'endings':
      return { method, ids: random.some(world.ids.slice(-10)) };
    case 'idsEndingIn':
      return { method, suffix: anId(random, world).slice(-random.pick([12, 17, 36])) };
    case 'stats':
      return { method, queue: random.chance(0.5) ? random.pick(world.queues) : null };
    case 'appendLog':
      return {
        method,
        lines: random.some(world.leases.slice(-4)).flatMap((lease) => someLines(random, lease)),
      };
    case 'log':
      return { method, id: aLeasedId(random, world), limit: random.pick([1, 2, 100]) };
    case 'register':
      return { method, report: aReport(random, world), aliveMs: halfPast(random.between(0, 4)) };
    case 'heartbeat':
      return { method, report: aReport(random, world) };
    case 'unregister':
      return { method, id: random.pick(world.workerIds), incarnation: random.pick(world.incarnations) };
    case 'orders':
    case 'forgetSilent':
      return { method, id: random.pick(world.workerIds) };
    case 'changeWorker':
      return aChange(random, world);
    case 'takeDuty': {
      const holder = random.pick(['x', 'y']);
      return { method, name: random.pick(world.duties), holder, ttlMs: halfPast(random.between(0, 3)) };
    }
    case 'releaseDuty':
      return { method, name: random.pick(world.duties), holder: random.pick(['x', 'y']) };
    case 'tidy':
      return { method, settled: random.int(100), idle: random.chance(0.5) };
    case 'advance':
      return { method, ms: random.pick([1, 1, 1, 2, 3, 10, 60, 1_500]) * MINUTE };
    case 'noteProfiles':
      return { method, notes: random.some(world.handlers).map((name) => aNote(random, name)) };
    case 'profiles':
      return { method, names: random.some(world.handlers), windowMs: halfPast(random.pick([1, 4, 59])) };
    case 'audit':
    case 'limits':
    case 'queues':
    case 'releaseBlocked':
    case 'pausedQueues':
    case 'workers':
    case 'now':
    case 'serverUptimeMs':
    case 'watch':
      return { method };
  }
}

export function anId(random: Random, world: World): string {
  if (world.leases.length > 0 && random.chance(0.35)) return random.pick(world.leases.slice(-4)).id;
  if (world.ids.length === 0 || random.chance(0.03)) return `${world.run}-0000-7000-8000-ffffffffffff`;
  return random.pick(random.chance(0.6) ? world.ids.slice(-8) : world.ids);
}

function planClaim(random: Random, world: World): ClaimRequest {
  const known = random.chance(0.15) ? world.leases.at(-random.between(1, 4)) : undefined;
  const alone = random.chance(0.2);
  const { takes, labels, budgets } = planPeek(random, world);
  return {
    token: known?.token ?? nextToken(world, random.pick(world.incarnations)),
    workerId: random.pick(world.workerIds),
    leaseMs: halfPast(random.between(0, 3)),
    takes: alone ? takes.slice(0, 1) : takes,
    labels,
    budgets,
    alone,
  };
}

function planPeek(random: Random, world: World): PeekRequest {
  const names = random.chance(0.7) ? world.names : random.some(world.names);
  const queues = random.some(world.queues, 1);
  return {
    takes: random.chance(0.35) ? planTakes(random, queues, names) : [planTake(random, queues, names)],
    labels: random.some(world.labels),
    budgets: {
      queues: random.chance(0.3) ? { [random.pick(queues)]: random.between(1, 8) } : {},
      groups: random.chance(0.3) ? { [random.pick(world.groups)]: random.between(1, 8) } : {},
    },
  };
}

/** Apart by queue or by name. */
function planTakes(random: Random, queues: readonly string[], names: readonly string[]): Take[] {
  if (names.length === 0 || random.chance(0.5))
    return queues.map((queue) => planTake(random, [queue], names));
  return names.map((name) => planTake(random, queues, [name]));
}

function planTake(random: Random, queues: readonly string[], names: readonly string[]): Take {
  const limit = random.between(1, 5);
  return { queues, names, limit, start: random.chance(0.6) ? limit : random.between(0, limit) };
}

function aFilter(random: Random, world: World) {
  const status = random.pick([
    'pending',
    'blocked',
    'processing',
    'completed',
    'buried',
    'cancelled',
  ] as const);
  return {
    queue: random.pick(world.queues),
    ...(random.chance(0.5) ? { status } : {}),
    ...(random.chance(0.3) ? { name: random.pick(world.names) } : {}),
    ...(random.chance(0.3) ? { tag: random.pick(world.tags) } : {}),
    ...(random.chance(0.06) ? { worker: random.pick(world.workerIds) } : {}),
    ...(random.chance(0.06) ? { errorText: random.pick(['broke', 'BROKE', 'x']) } : {}),
  };
}

function someLines(random: Random, lease: Lease) {
  return Array.from({ length: random.between(1, 3) }, () => ({
    ...lease,
    seq: random.between(1, 6),
    kind: random.pick(['log', 'progress'] as const),
    level: random.pick(['debug', 'info', 'warn', 'error'] as const),
    text: random.pick(['', 'one', '😀 \\u0000', 'x'.repeat(500)]),
  }));
}

function aReport(random: Random, world: World): WorkerReport {
  return workerReport({
    id: random.pick(world.workerIds),
    incarnation: random.pick(world.incarnations.slice(0, 2)),
    pid: random.between(1, 9),
    state: random.pick(['STARTING', 'RUNNING', 'DRAINING']),
    queues: random.some(world.queues),
    handlers: random.some(world.names),
    running: random.int(10),
    jobsDone: random.int(1_000),
    details: random.pick([{}, { memoryMb: 12.5 }, { lanes: [{ kind: 'inline' }], none: null }]),
  });
}

function aChange(random: Random, world: World): Operation {
  const id = random.pick(world.workerIds);
  const change = random.pick<WorkerChange>([
    { kind: 'admin-state', adminState: random.pick(['active', 'drain', 'standby']) },
    { kind: 'recycle' },
    { kind: 'forget', silentForMs: halfPast(random.between(0, 4)) },
  ]);
  // Now and then one that was written before.
  const audit = `${world.run}-0000-7000-8000-${String(random.int(40)).padStart(12, '0')}`;
  const entry = { id: audit, actor: 'ada', action: change.kind, target: id, source: 'test' };
  return { method: 'changeWorker', id, change, audit: entry };
}

function aNote(random: Random, name: string): ProfileNote {
  return {
    name,
    count: random.between(1, 4),
    totalMs: random.between(0, 400) * 10,
    maxRssBytes: random.pick([null, 1_000_000, 2_000_000]),
  };
}

function aLeasedId(random: Random, world: World): string {
  return world.leases.length > 0 ? random.pick(world.leases.slice(-6)).id : anId(random, world);
}

/** Which lease of a job is the present one is a question only of one lease a job. */
function ofDifferentJobs(leases: readonly Lease[]): Lease[] {
  return [...new Map(leases.map((lease) => [lease.id, lease])).values()];
}
