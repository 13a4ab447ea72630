import {
  type ClaimedJob,
  type ClaimRequest,
  type HeldLease,
  incarnationOf,
  type Lease,
  type PeekRequest,
  type Take,
} from '../claimed-job.js';
import { inClaimOrder, type MemoryJob, type MemoryState } from './state.js';
import { freeAtClaim } from './unique-keys.js';

export function claim(state: MemoryState, request: ClaimRequest): ClaimedJob[] {
  const held = [...state.processing.values()].filter((job) => job.lease?.token === request.token);
  const jobs = held.length > 0 ? inTakeOrder(held, request.takes) : takeDue(state, request);
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
  { takes }: PeekRequest,
): { dueInMs: number | null; aloneDue: boolean } {
  const nowMs = state.now();
  let dueInMs: number | null = null;
  let aloneDue = false;
  for (const { queues, names } of takes) {
    for (const queue of queues) {
      if (state.paused.has(queue)) continue;
      for (const job of state.pending(queue)) {
        if (!names.includes(job.name)) continue;
        const inMs = Math.max(job.dueAtMs - nowMs, 0);
        if (job.alone) aloneDue ||= inMs === 0;
        else dueInMs = Math.min(dueInMs ?? inMs, inMs);
      }
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
  state.claims += 1;
  return request.takes.flatMap((take) => takeOne(state, request, take));
}

function takeOne(state: MemoryState, request: ClaimRequest, take: Take): MemoryJob[] {
  const nowMs = state.now();
  const names = new Set(take.names);
  const limit = request.alone ? 1 : take.limit;
  const taken: MemoryJob[] = [];
  for (const queue of new Set(take.queues)) {
    if (state.paused.has(queue)) continue;
    for (const job of state.pending(queue)) {
      if (taken.length === limit) break;
      if (job.alone === request.alone && job.dueAtMs <= nowMs && names.has(job.name)) taken.push(job);
    }
  }
  for (const [index, job] of taken.entries()) lend(state, job, request, index < take.start);
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

function inTakeOrder(jobs: MemoryJob[], takes: readonly Take[]): MemoryJob[] {
  const place = ({ queue, name }: MemoryJob): [number, number] => {
    const take = takes.findIndex(({ queues, names }) => queues.includes(queue) && names.includes(name));
    return [take, takes[take]?.queues.indexOf(queue) ?? -1];
  };
  return jobs.sort((a, b) => {
    const [placeA, placeB] = [place(a), place(b)];
    return placeA[0] - placeB[0] || placeA[1] - placeB[1] || inClaimOrder(a, b);
  });
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
    limit: job.limit,
    cost: job.cost,
    requires: job.requires,
  };
}
