import { isFinal } from '../../core/job-status.js';
import { auditKeptMs } from '../audit.js';
import { forgetJob } from './endings.js';
import { purgeHubs } from './hubs.js';
import type { MemoryJob, MemoryState } from './state.js';
import { hasPassed } from './unique-keys.js';
import { forgetWorker } from './workers.js';

const dayMs = 86_400_000;

export function purge(
  state: MemoryState,
  request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  },
): number {
  const nowMs = state.now();
  let purged = 0;
  for (const job of state.jobs.values()) {
    if (purged === request.limit) break;
    if (!(request.statuses as readonly string[]).includes(job.status) || job.finishedAtMs === null) continue;
    const keptForMs =
      job.status === 'buried' ? request.olderThanMs : (job.retentionMs ?? request.olderThanMs);
    if (nowMs - job.finishedAtMs < keptForMs || isNeeded(state, job)) continue;
    forgetJob(state, job);
    purged += 1;
  }
  return purged;
}

function isNeeded(state: MemoryState, job: MemoryJob): boolean {
  return [...(state.dependents.get(job.id) ?? [])].some((id) => {
    const dependent = state.jobs.get(id);
    return dependent !== undefined && !isFinal(dependent.status);
  });
}

/** Log lines, unique periods, audit entries, workers and hubs, up to `limit` of each; profiles and turns are not counted. */
export function purgeTraces(state: MemoryState, request: { olderThanMs: number; limit: number }): number {
  const { limit } = request;
  state.profiles.forget(state.now());
  forgetTurns(state);
  return (
    purgeLines(state, request) +
    purgePeriods(state, limit) +
    purgeWorkers(state, limit) +
    purgeHubs(state, limit) +
    purgeAudit(state, limit)
  );
}

function forgetTurns(state: MemoryState): void {
  const live = [...state.jobs.values()].filter(({ status }) => !isFinal(status));
  state.turns.forget(state.now(), (group, key) =>
    live.some(({ limit }) => limit?.group === group && limit.key === key),
  );
}

function purgeLines(state: MemoryState, request: { olderThanMs: number; limit: number }): number {
  const nowMs = state.now();
  let purged = 0;
  for (const job of state.jobs.values()) {
    for (let at = 0; at < job.log.length && purged < request.limit; ) {
      if (nowMs - (job.log[at]?.atMs ?? nowMs) >= request.olderThanMs) {
        job.log.splice(at, 1);
        purged += 1;
      } else at += 1;
    }
  }
  return purged;
}

function purgePeriods(state: MemoryState, limit: number): number {
  const passed = [...state.uniqueKeys].filter(([, held]) => hasPassed(state, held)).slice(0, limit);
  for (const [key] of passed) state.uniqueKeys.delete(key);
  return passed.length;
}

function purgeWorkers(state: MemoryState, limit: number): number {
  const oldestMs = state.now() - dayMs;
  const silent = [...state.workers.values()]
    .filter((worker) => worker.heartbeatAtMs <= oldestMs)
    .slice(0, limit);
  for (const worker of silent) forgetWorker(state, worker);
  return silent.length;
}

function purgeAudit(state: MemoryState, limit: number): number {
  const oldestMs = state.now() - auditKeptMs;
  const kept = state.audit.findIndex(({ atMs }) => atMs > oldestMs);
  return state.audit.splice(0, Math.min(kept === -1 ? state.audit.length : kept, limit)).length;
}
