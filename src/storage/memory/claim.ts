import {
  type ClaimedJob,
  type ClaimRequest,
  type HeldLease,
  incarnationOf,
  type Lease,
} from '../claimed-job.js';
import type { MemoryJob, MemoryState } from './state.js';
import { freeAtClaim } from './unique-keys.js';

export function claim(state: MemoryState, request: ClaimRequest): ClaimedJob[] {
  const held = [...state.processing.values()].filter((job) => job.lease?.token === request.token);
  const jobs = held.length > 0 ? inQueueOrder(held, request.queues) : takeDue(state, request);
  return jobs.map((job) => claimedJob(job));
}

export function markStarted(state: MemoryState, leases: readonly Lease[]): string[] {
  const lost: string[] = [];
  for (const { id, token } of leases) {
    const lease = state.processing.get(id)?.lease;
    if (lease?.token === token) lease.started = true;
    else lost.push(id);
  }
  return lost;
}

export function renew(state: MemoryState, incarnation: string, leaseMs: number): HeldLease[] {
  const untilMs = state.now() + leaseMs;
  for (const job of heldBy(state, incarnation)) if (job.lease !== null) job.lease.untilMs = untilMs;
  return held(state, incarnation);
}

export function held(state: MemoryState, incarnation: string): HeldLease[] {
  return heldBy(state, incarnation).flatMap(({ id, lease }) =>
    lease === null ? [] : [{ id, token: lease.token, stopRequest: lease.stopRequest }],
  );
}

export function peek(
  state: MemoryState,
  queues: readonly string[],
  names: readonly string[],
): { dueInMs: number | null; aloneDue: boolean } {
  const nowMs = state.now();
  const known = new Set(names);
  let dueInMs: number | null = null;
  let aloneDue = false;
  for (const queue of queues) {
    if (state.paused.has(queue)) continue;
    for (const job of state.pending(queue)) {
      if (!known.has(job.name)) continue;
      const inMs = Math.max(job.dueAtMs - nowMs, 0);
      if (job.alone) aloneDue ||= inMs === 0;
      else dueInMs = Math.min(dueInMs ?? inMs, inMs);
    }
  }
  return { dueInMs, aloneDue };
}

function heldBy(state: MemoryState, incarnation: string): MemoryJob[] {
  return [...state.processing.values()].filter(
    (job) => job.lease !== null && incarnationOf(job.lease.token) === incarnation,
  );
}

function takeDue(state: MemoryState, request: ClaimRequest): MemoryJob[] {
  const nowMs = state.now();
  const names = new Set(request.names);
  const limit = request.alone ? 1 : request.limit;
  const taken: MemoryJob[] = [];
  for (const queue of new Set(request.queues)) {
    if (state.paused.has(queue)) continue;
    for (const job of state.pending(queue)) {
      if (taken.length === limit) break;
      if (job.alone === request.alone && job.dueAtMs <= nowMs && names.has(job.name)) taken.push(job);
    }
  }
  state.claims += 1;
  for (const [index, job] of taken.entries()) lend(state, job, request, index < request.start);
  return taken;
}

function lend(state: MemoryState, job: MemoryJob, request: ClaimRequest, started: boolean): void {
  const nowMs = state.now();
  state.leavePending(job);
  job.status = 'processing';
  job.reason = null;
  job.claimedAtMs = nowMs;
  job.workerId = request.workerId;
  job.claimNumber = state.claims;
  job.lease = {
    token: request.token,
    alone: request.alone,
    untilMs: nowMs + request.leaseMs,
    started,
    stopRequest: null,
  };
  state.processing.set(job.id, job);
  freeAtClaim(state, job);
}

function inQueueOrder(jobs: MemoryJob[], queues: readonly string[]): MemoryJob[] {
  return jobs.sort(
    (a, b) =>
      queues.indexOf(a.queue) - queues.indexOf(b.queue) ||
      b.priority - a.priority ||
      a.dueAtMs - b.dueAtMs ||
      (a.id < b.id ? -1 : 1),
  );
}

function claimedJob(job: MemoryJob): ClaimedJob {
  return {
    id: job.id,
    token: job.lease?.token ?? '',
    name: job.name,
    queue: job.queue,
    payload: job.payload,
    version: job.version,
    priority: job.priority,
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    deaths: job.deaths,
    lapses: job.lapses,
    started: job.lease?.started ?? false,
    errors: job.errors,
    createdAtMs: job.createdAtMs,
    dueAtMs: job.dueAtMs,
  };
}
