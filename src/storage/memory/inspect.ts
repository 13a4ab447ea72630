import { inClaimOrder } from '../choose-jobs.js';
import type { JobEnding, JobRecord, JobSummary, QueueStats } from '../job-record.js';
import type { MemoryJob, MemoryState } from './state.js';

const mostAhead = 10_000;

export function job(state: MemoryState, id: string): JobRecord | null {
  const row = state.jobs.get(id);
  return row === undefined ? null : recordOf(row);
}

export function ahead(state: MemoryState, id: string): number | null {
  const row = state.jobs.get(id);
  if (row?.status !== 'pending') return null;
  const nowMs = state.now();
  let count = 0;
  for (const other of state.lineOf(row)) {
    if (count === mostAhead || inClaimOrder(other, row) >= 0) break;
    if (other.dueAtMs <= nowMs) count += 1;
  }
  return count;
}

export function endings(state: MemoryState, ids: readonly string[]): JobEnding[] {
  return ids.flatMap((id) => {
    const row = state.jobs.get(id);
    if (row === undefined) return [];
    const { status, result, errors, reason } = row;
    return [{ id, status, result, errors, reason }];
  });
}

export function idsEndingIn(state: MemoryState, suffix: string): string[] {
  const text = suffix.toLowerCase();
  return [...state.jobs.keys()].filter((id) => id.endsWith(text)).slice(0, 10);
}

export function stats(state: MemoryState, queue?: string): QueueStats[] {
  if (queue !== undefined) return [queueStats(state, queue)];
  const names = new Set([...state.paused, ...state.ended.keys()]);
  for (const row of state.jobs.values()) names.add(row.queue);
  return [...names].sort().map((name) => queueStats(state, name));
}

export function queues(state: MemoryState): string[] {
  const names = new Set<string>();
  for (const { queue } of state.jobs.values()) names.add(queue);
  return [...names].sort();
}

function queueStats(state: MemoryState, queue: string): QueueStats {
  const nowMs = state.now();
  const paused = state.paused.has(queue);
  const rows = [...state.jobs.values()].filter((row) => row.queue === queue);
  const pending = rows.filter((row) => row.status === 'pending');
  const claimable = paused ? [] : pending.filter((row) => !row.alone && row.dueAtMs <= nowMs);
  const oldestDueMs = claimable.reduce((oldest, row) => Math.min(oldest, row.dueAtMs), Infinity);
  return {
    queue,
    paused,
    pending: pending.length,
    claimable: claimable.length,
    blocked: rows.filter((row) => row.status === 'blocked').length,
    processing: rows.filter((row) => row.status === 'processing').length,
    ...(state.ended.get(queue) ?? { completed: 0, buried: 0, cancelled: 0 }),
    oldestDueForMs: claimable.length === 0 ? null : nowMs - oldestDueMs,
  };
}

export function summaryOf(row: MemoryJob): JobSummary {
  return {
    id: row.id,
    name: row.name,
    queue: row.queue,
    status: row.status,
    priority: row.priority,
    attempts: row.attempts,
    maxAttempts: row.maxAttempts,
    deaths: row.deaths,
    createdAtMs: row.createdAtMs,
    dueAtMs: row.dueAtMs,
    claimedAtMs: row.claimedAtMs,
    finishedAtMs: row.finishedAtMs,
    workerId: row.workerId,
    tags: row.tags,
  };
}

function recordOf(row: MemoryJob): JobRecord {
  return {
    ...summaryOf(row),
    payload: row.payload,
    version: row.version,
    result: row.result,
    errors: row.errors,
    outcome: row.outcome,
    reason: row.reason,
    stopRequest: row.lease?.stopRequest ?? null,
    leaseUntilMs: row.lease?.untilMs ?? null,
    started: row.lease?.started ?? false,
    lapses: row.lapses,
    alone: row.alone,
    uniqueKey: row.unique?.key ?? null,
    retentionMs: row.retentionMs,
    waitsFor: row.status === 'blocked' ? openParents(row) : [],
    waitedFor: row.reason === 'parent-failed' ? [...row.parents.keys()].sort() : [],
    limit: row.limit,
    cost: row.cost,
    requires: row.requires,
  };
}

function openParents(row: MemoryJob): string[] {
  return [...row.parents].filter(([, link]) => link === 'waiting').map(([id]) => id);
}
