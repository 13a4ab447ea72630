import type { FleetOrders, WorkerOrders } from '../../src/storage/worker-record.js';
import type { Operation } from './operation.js';
import type { World } from './world.js';

const HALF_MINUTE = 30_000;
/** The two storages read their clocks one after the other. */
const SKEW = 1_000;

/** Answers whose order is not promised. */
const unordered = new Set([
  'markStarted',
  'renew',
  'held',
  'jobs',
  'endings',
  'idsEndingIn',
  'stats',
  'workers',
  'stopRequests',
  'keptContents',
]);
const durations = new Set(['expiredForMs', 'silentForMs', 'disconnectedForMs', 'dueInMs', 'oldestDueForMs']);
/** Positions that each engine writes in its own way, and epochs, which start by the clock. */
const opaque = new Set(['cursor', 'next', 'epoch', 'connectionEpoch']);

/** What two storages must agree about: times to the half minute, no cursors, no rows of other runs. */
export function normalize(operation: Operation, answer: unknown, world: World, startMs: number): unknown {
  const { method } = operation;
  // How many traces are left to purge is an engine's own: it may have cleaned some away before.
  // Which queues are told of beside those that have a job is one too.
  if (method === 'queues') return null;
  if (method === 'serverUptimeMs' || method === 'purgeTraces') return null;
  if (method === 'orders') {
    const { paused, ...orders } = answer as WorkerOrders;
    return { ...orders, paused: sorted(ofThisRun(paused, world)) };
  }
  if (method === 'fleetOrders') {
    const { workers, paused } = answer as FleetOrders;
    return { workers: ofThisRun(workers, world), paused: sorted(ofThisRun(paused, world)) };
  }
  if (method === 'now') return bucket(answer as number, startMs);
  const comparable = comparableOf(ofThisRun(answer, world), startMs);
  if (method === 'claim') return inOrderUnlessRepeated(comparable, operation.request.token, world);
  if (
    method === 'exchange' &&
    typeof comparable === 'object' &&
    comparable !== null &&
    'claimed' in comparable
  ) {
    const { claimed } = comparable;
    return { ...comparable, claimed: inOrderUnlessRepeated(claimed, operation.request.token, world) };
  }
  return unordered.has(method) || method === 'pausedQueues' ? sorted(comparable) : comparable;
}

/** A repeat of a claim answers with what it took, in any order. */
function inOrderUnlessRepeated(claimed: unknown, token: string, world: World): unknown {
  return world.leases.some((lease) => lease.token === token) ? sorted(claimed) : claimed;
}

function ofThisRun(answer: unknown, world: World): unknown {
  if (!Array.isArray(answer)) return answer;
  return answer.filter((row: unknown) => {
    if (typeof row === 'string') return !row.startsWith('q-') || row.includes(world.run);
    if (typeof row !== 'object' || row === null) return true;
    if ('group' in row && 'waiting' in row) return String(row.group).startsWith(world.run);
    if ('actor' in row && 'target' in row) return String(row.target).startsWith(world.run);
    if ('id' in row && ('adminState' in row || 'advertiseUrl' in row || 'secretHash' in row))
      return String(row.id).startsWith(world.run);
    if ('oldestDueForMs' in row && 'queue' in row)
      return String(row.queue).includes(world.run) && !isEmpty(row);
    return true;
  });
}

/** A queue without anything may be listed or not. */
function isEmpty(stats: object): boolean {
  return Object.values(stats).every(
    (value) => typeof value === 'string' || value === 0 || value === null || value === false,
  );
}

export function comparableOf(value: unknown, startMs: number): unknown {
  if (Array.isArray(value)) return value.map((item) => comparableOf(item, startMs));
  if (typeof value !== 'object' || value === null) return value ?? null;
  const entries = Object.entries(value)
    .filter(([key]) => !opaque.has(key))
    .map(([key, item]) => [key, comparableField(key, item, startMs)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function comparableField(key: string, item: unknown, startMs: number): unknown {
  if (key === 'waitsFor' || key === 'waitedFor') return sorted(item);
  if (typeof item === 'number' && /(^at|At|Until)Ms$/.test(key)) return bucket(item, startMs);
  if (typeof item === 'number' && durations.has(key)) return Math.round(item / HALF_MINUTE);
  return comparableOf(item, startMs);
}

function bucket(ms: number, startMs: number): number {
  return Math.floor((ms - startMs + SKEW) / HALF_MINUTE);
}

export function sorted(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return [...(value as unknown[])].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
