import { type Chosen, chooseJobs, inClaimOrder, type LineOfJobs } from '../choose-jobs.js';
import {
  type ClaimedJob,
  type ClaimRequest,
  type HeldLease,
  incarnationOf,
  type Lease,
  type PeekRequest,
  type Take,
} from '../claimed-job.js';
import { hasRoom, type Occupancy } from '../occupancy.js';
import { occupancyOf } from './limits.js';
import type { MemoryJob, MemoryState } from './state.js';
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
  { takes, labels, budgets }: PeekRequest,
): { dueInMs: number | null; aloneDue: boolean } {
  const nowMs = state.now();
  const occupancy = occupancyOf(state, budgets);
  let dueInMs: number | null = null;
  let aloneDue = false;
  for (const job of fitting(state, takes, labels)) {
    const inMs = Math.max(job.dueAtMs - nowMs, 0);
    if (inMs === 0 && !hasRoom(occupancy.roomFor(job.queue, job))) continue;
    if (job.alone) aloneDue ||= inMs === 0;
    else dueInMs = Math.min(dueInMs ?? inMs, inMs);
  }
  return { dueInMs, aloneDue };
}

function* fitting(
  state: MemoryState,
  takes: readonly Take[],
  labels: readonly string[],
): Generator<MemoryJob> {
  for (const { queues, names } of takes) {
    for (const queue of queues) {
      if (state.paused.has(queue)) continue;
      for (const line of state.lines(queue)) {
        for (const job of line.jobs) if (names.includes(job.name) && hasLabels(job, labels)) yield job;
      }
    }
  }
}

function heldBy(state: MemoryState, incarnation: string): MemoryJob[] {
  return [...state.processing.values()].filter(
    (job) => job.lease !== null && incarnationOf(job.lease.token) === incarnation,
  );
}

function takeDue(state: MemoryState, request: ClaimRequest): MemoryJob[] {
  state.claims += 1;
  const occupancy = occupancyOf(state, request.budgets);
  return request.takes.flatMap((take) => {
    const chosen = request.alone
      ? chooseAlone(state, request, { take, occupancy })
      : chooseJobs(take, linesOf(state, request, { take, occupancy }));
    for (const { job, started } of chosen) {
      lend(state, job, { request, started, metered: occupancy.hasBudget(job.queue) });
      if (!request.alone && job.limit !== null)
        state.turns.serve(job.limit.group, job.limit.key, state.now());
    }
    return chosen.map(({ job }) => job);
  });
}

interface OneTake {
  readonly take: Take;
  readonly occupancy: Occupancy;
}

function* linesOf(
  state: MemoryState,
  { labels }: ClaimRequest,
  { take, occupancy }: OneTake,
): Generator<LineOfJobs<MemoryJob>[]> {
  for (const queue of openQueues(state, take)) {
    yield [...state.lines(queue)]
      .filter(({ kind, sample }) => kind !== 'alone' && hasLabels(sample, labels))
      .map(({ kind, sample, jobs }) => ({
        jobs: dueOf(state, jobs, take),
        room: occupancy.roomFor(queue, sample),
        group: sample.limit?.group ?? null,
        mayWait: kind === 'ordinary' && !occupancy.hasBudget(queue),
      }));
  }
}

/** The first that has room; keys take no turns here. */
function chooseAlone(
  state: MemoryState,
  { labels }: ClaimRequest,
  { take, occupancy }: OneTake,
): Chosen<MemoryJob>[] {
  for (const queue of openQueues(state, take)) {
    for (const { kind, jobs } of state.lines(queue)) {
      if (kind !== 'alone') continue;
      for (const job of dueOf(state, jobs, take)) {
        if (!hasLabels(job, labels) || !hasRoom(occupancy.roomFor(queue, job))) continue;
        const mayWait = isOrdinary(job) && !occupancy.hasBudget(queue);
        return take.start > 0 || mayWait ? [{ job, started: take.start > 0 }] : [];
      }
    }
  }
  return [];
}

function openQueues(state: MemoryState, { queues }: Take): string[] {
  return [...new Set(queues)].filter((queue) => !state.paused.has(queue));
}

function* dueOf(state: MemoryState, jobs: Iterable<MemoryJob>, { names }: Take): Generator<MemoryJob> {
  const known = new Set(names);
  for (const job of jobs) if (job.dueAtMs <= state.now() && known.has(job.name)) yield job;
}

function hasLabels({ requires }: MemoryJob, labels: readonly string[]): boolean {
  return requires.every((label) => labels.includes(label));
}

function isOrdinary({ limit, cost, requires }: MemoryJob): boolean {
  return limit === null && cost === 1 && requires.length === 0;
}

function lend(
  state: MemoryState,
  job: MemoryJob,
  { request, started, metered }: { request: ClaimRequest; started: boolean; metered: boolean },
): void {
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
    metered,
    untilMs: nowMs + request.leaseMs,
    started,
    stopRequest: null,
  };
  state.processing.set(job.id, job);
  if (job.limit !== null || metered) state.bounded.add(job);
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
