import type { JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import type {
  JobEnding,
  JobFilter,
  JobPage,
  JobPageRequest,
  JobRecord,
  JobSummary,
  QueueStats,
} from '../job-record.js';
import { byId, inClaimOrder, type MemoryJob, type MemoryState } from './state.js';

const statusOrder: readonly JobStatus[] = [
  'processing',
  'pending',
  'blocked',
  'buried',
  'cancelled',
  'completed',
];

export function job(state: MemoryState, id: string): JobRecord | null {
  const row = state.jobs.get(id);
  return row === undefined ? null : recordOf(row);
}

/** The cursor is the number of jobs that stand before the page: the order is computed anew each time. */
export function jobs(state: MemoryState, filter: JobFilter, page: JobPageRequest): JobPage {
  const start = page.cursor === undefined ? 0 : Number(page.cursor);
  if (!Number.isSafeInteger(start) || start < 0) {
    throw new MillraceError('cursor-invalid', `cursor: expected the "next" of a page, got "${page.cursor}"`);
  }
  const found = [...state.jobs.values()].filter(
    (row) =>
      (filter.status === undefined || row.status === filter.status) &&
      (filter.queue === undefined || row.queue === filter.queue) &&
      (filter.name === undefined || row.name === filter.name),
  );
  const end = start + page.limit;
  const shown = found.sort(inListOrder).slice(start, end);
  return { jobs: shown.map(summaryOf), next: end < found.length ? String(end) : null };
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

function inListOrder(a: MemoryJob, b: MemoryJob): number {
  const byStatus = statusOrder.indexOf(a.status) - statusOrder.indexOf(b.status);
  if (byStatus !== 0) return byStatus;
  if (a.status !== 'pending') return byId(b, a);
  return Number(b.alone) - Number(a.alone) || inClaimOrder(a, b);
}

function summaryOf(row: MemoryJob): JobSummary {
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
  };
}

function recordOf(row: MemoryJob): JobRecord {
  return {
    ...summaryOf(row),
    payload: row.payload,
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
  };
}

function openParents(row: MemoryJob): string[] {
  return [...row.parents].filter(([, link]) => link === 'waiting').map(([id]) => id);
}
