import { isFinal } from '../../core/job-status.js';
import { forgetJob } from './endings.js';
import type { MemoryJob, MemoryState } from './state.js';
import { hasPassed } from './unique-keys.js';

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

/** Log lines, unique periods and workers, up to `limit` of each; profiles and turns are not counted. */
export function purgeTraces(state: MemoryState, request: { olderThanMs: number; limit: number }): number {
  state.profiles.forget(state.now());
  forgetTurns(state);
  return purgeLines(state, request) + purgePeriods(state, request.limit) + purgeWorkers(state, request.limit);
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
  for (const { id } of silent) state.workers.delete(id);
  return silent.length;
}
