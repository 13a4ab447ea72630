import { isFinal } from '../../core/job-status.js';
import type { LeaseToken, StopRequest } from '../claimed-job.js';
import type { MemoryJob, MemoryLease, MemoryState } from './state.js';
import { freeAtDeletion, freeAtEnd } from './unique-keys.js';

/** What there is to say about an ending. */
export interface Ending {
  readonly status: 'completed' | 'buried' | 'cancelled';
  readonly reason: string | null;
  readonly endedBy: LeaseToken | null;
}

/** Ends a job that is not final, and what follows for those that wait for it. */
export function endJob(state: MemoryState, job: MemoryJob, ending: Ending): void {
  endJobs(state, [job], ending);
}

/** All end before the first is followed: what waits for another one of them ends as itself. */
export function endJobs(state: MemoryState, jobs: readonly MemoryJob[], ending: Ending): void {
  for (const job of jobs) finish(state, job, ending);
  for (const { id } of jobs) tellDependents(state, id, ending.status === 'completed');
}

/** Removes jobs of any status with their keys; dependents of one that had not ended follow as after a cancel. */
export function deleteJobs(state: MemoryState, jobs: readonly MemoryJob[]): void {
  const live = jobs.filter(({ status }) => !isFinal(status));
  for (const job of jobs) {
    freeAtDeletion(state, job);
    leaveStatus(state, job);
    job.status = 'cancelled';
  }
  for (const { id } of live) tellDependents(state, id, false);
  for (const job of jobs) forgetJob(state, job);
}

/** Carries out what an operator asked for while the job ran. */
export function carryOut(
  state: MemoryState,
  job: MemoryJob,
  request: StopRequest,
  endedBy: LeaseToken | null,
): void {
  if (request === 'delete') deleteJobs(state, [job]);
  else {
    const status = request === 'cancel' ? 'cancelled' : 'buried';
    endJob(state, job, { status, reason: 'operator', endedBy });
  }
}

/** Back to pending after a lease; the due time is the caller's to set before. */
export function backToPending(state: MemoryState, job: MemoryJob, reason: string | null): void {
  leaveStatus(state, job);
  job.reason = reason;
  state.makePending(job);
}

/** Takes the row away, with its edges, its idempotency key and its log. */
export function forgetJob(state: MemoryState, job: MemoryJob): void {
  for (const parent of job.parents.keys()) {
    const siblings = state.dependents.get(parent);
    siblings?.delete(job.id);
    if (siblings?.size === 0) state.dependents.delete(parent);
  }
  for (const dependent of state.dependents.get(job.id) ?? [])
    state.jobs.get(dependent)?.parents.delete(job.id);
  state.dependents.delete(job.id);
  if (job.idempotencyKey !== null) state.idempotencyKeys.delete(job.idempotencyKey);
  state.jobs.delete(job.id);
}

function leaveStatus(state: MemoryState, job: MemoryJob): void {
  if (job.status === 'pending') state.leavePending(job);
  if (job.lease !== null) endLease(state, job, job.lease);
}

function endLease(state: MemoryState, job: MemoryJob, lease: MemoryLease): void {
  state.processing.delete(job.id);
  job.lease = null;
  if (state.bounded.delete(job)) state.awakenForRoomOf(job, lease.metered);
}

function finish(state: MemoryState, job: MemoryJob, ending: Ending): void {
  leaveStatus(state, job);
  job.status = ending.status;
  job.reason = ending.reason;
  job.endedBy = ending.endedBy;
  job.finishedAtMs = state.now();
  freeAtEnd(state, job);
  state.countEnding(job.queue, ending.status);
}

/** Level by level, not by recursion: a chain may be longer than the stack. */
function tellDependents(state: MemoryState, endedId: string, completed: boolean): void {
  const ended = [{ id: endedId, completed }];
  for (const parent of ended) {
    for (const id of state.dependents.get(parent.id) ?? []) {
      const job = state.jobs.get(id);
      if (job?.status !== 'blocked' || job.parents.get(parent.id) !== 'waiting') continue;
      job.parents.set(parent.id, 'met');
      if (followParents(state, job, parent.completed) === 'ended') ended.push({ id, completed: false });
    }
  }
}

/** What becomes of a blocked job when parents have ended, its own dependents left to the caller. */
export function followParents(
  state: MemoryState,
  job: MemoryJob,
  allCompleted: boolean,
): 'ended' | 'released' | 'waits' {
  if (!allCompleted && job.onFailedParent !== 'run') {
    const status = job.onFailedParent === 'bury' ? 'buried' : 'cancelled';
    finish(state, job, { status, reason: 'parent-failed', endedBy: null });
    return 'ended';
  }
  if ([...job.parents.values()].includes('waiting')) return 'waits';
  state.makePending(job);
  return 'released';
}

/** As `followParents`, and what follows for those that wait for the job. */
export function followParentsOn(state: MemoryState, job: MemoryJob, allCompleted: boolean): void {
  if (followParents(state, job, allCompleted) === 'ended') tellDependents(state, job.id, false);
}
