import type { ExpiredLease, TakeBack, TakeBackOutcome } from '../settlement.js';
import { backToPending, carryOut, endJob, followParentsOn } from './endings.js';
import { byId, type MemoryJob, type MemoryState } from './state.js';

export function expired(
  state: MemoryState,
  request: { expiredForMs: number; limit: number; after?: { leaseUntilMs: number; id: string } },
): ExpiredLease[] {
  const nowMs = state.now();
  const { after } = request;
  return [...state.processing.values()]
    .flatMap((job) => expiredLease(job, nowMs))
    .filter((lease) => lease.expiredForMs >= request.expiredForMs)
    .sort(byLeaseEnd)
    .filter((lease) => after === undefined || byLeaseEnd(lease, after) > 0)
    .slice(0, request.limit);
}

export function takeBack(state: MemoryState, decisions: readonly TakeBack[]): TakeBackOutcome[] {
  return decisions.map((decision) => takeBackOne(state, decision));
}

function takeBackOne(state: MemoryState, decision: TakeBack): TakeBackOutcome {
  const job = state.processing.get(decision.id);
  if (job?.lease?.token !== decision.token || job.lease.untilMs !== decision.leaseUntilMs) return 'renewed';
  const { stopRequest } = job.lease;
  // Nobody withdraws a request, so a rescuer that saw one and a job that has none don't go together.
  if (decision.kind === 'stopped' && stopRequest === null) return 'renewed';
  recordDeath(job, decision);
  if (stopRequest !== null) carryOut(state, job, stopRequest, null);
  else if (decision.kind === 'poison')
    endJob(state, job, { status: 'buried', reason: 'poison', endedBy: null });
  else returnToLine(state, job, decision);
  return 'done';
}

/** What happened to the job, whatever becomes of it. */
function recordDeath(job: MemoryJob, decision: TakeBack): void {
  if (decision.kind === 'lapsed') job.lapses += 1;
  if (decision.kind === 'died' || decision.kind === 'poison') {
    job.deaths += 1;
    job.errors = decision.errors;
  }
}

function returnToLine(state: MemoryState, job: MemoryJob, decision: TakeBack): void {
  if (decision.kind === 'died') {
    job.dueAtMs = state.now() + decision.delayMs;
    job.alone ||= decision.alone;
  }
  backToPending(state, job, null);
}

export function releaseBlocked(state: MemoryState, limit: number): number {
  let moved = 0;
  for (const job of state.jobs.values()) {
    if (moved === limit) break;
    if (job.status !== 'blocked') continue;
    const open = [...job.parents].filter(([, link]) => link === 'waiting').map(([id]) => state.jobs.get(id));
    const ended = open.filter((parent) => parent === undefined || parent.finishedAtMs !== null);
    if (ended.length < open.length) continue;
    for (const id of job.parents.keys()) job.parents.set(id, 'met');
    const allCompleted = open.every((parent) => parent?.status === 'completed');
    followParentsOn(state, job, allCompleted);
    moved += 1;
  }
  return moved;
}

function expiredLease(job: MemoryJob, nowMs: number): ExpiredLease[] {
  const { lease } = job;
  if (lease === null) return [];
  return [
    {
      id: job.id,
      token: lease.token,
      name: job.name,
      queue: job.queue,
      workerId: job.workerId ?? '',
      started: lease.started,
      ranAlone: lease.alone,
      attempts: job.attempts,
      maxAttempts: job.maxAttempts,
      deaths: job.deaths,
      lapses: job.lapses,
      errors: job.errors,
      stopRequest: lease.stopRequest,
      leaseUntilMs: lease.untilMs,
      expiredForMs: nowMs - lease.untilMs,
    },
  ];
}

function byLeaseEnd(
  a: { readonly leaseUntilMs: number; readonly id: string },
  b: { readonly leaseUntilMs: number; readonly id: string },
): number {
  return a.leaseUntilMs - b.leaseUntilMs || byId(a, b);
}
