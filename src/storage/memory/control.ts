import { isFinal } from '../../core/job-status.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlOutcome } from '../settlement.js';
import { deleteJob, endJob } from './endings.js';
import { byId, type MemoryJob, type MemoryState } from './state.js';
import { holderOf, takeKey } from './unique-keys.js';

export function retry(state: MemoryState, id: string): ControlOutcome {
  const job = state.jobs.get(id);
  if (job === undefined) return 'not-found';
  if (job.status === 'pending') {
    state.leavePending(job);
    job.dueAtMs = state.now();
    job.reason = null;
    state.makePending(job);
    return 'done';
  }
  return job.status === 'buried' || job.status === 'cancelled' ? retryEnded(state, job) : 'not-allowed';
}

export function retryBuried(
  state: MemoryState,
  request: { queue?: string; limit: number },
): { retried: number; duplicates: number } {
  const answer = { retried: 0, duplicates: 0 };
  const buried = [...state.jobs.values()]
    .filter((job) => job.status === 'buried' && (request.queue === undefined || job.queue === request.queue))
    .sort(byId);
  for (const job of buried) {
    if (answer.retried === request.limit) break;
    if (retryEnded(state, job) === 'done') answer.retried += 1;
    else answer.duplicates += 1;
  }
  return answer;
}

function retryEnded(state: MemoryState, job: MemoryJob): 'done' | 'duplicate' {
  if (job.unique?.scope === 'active') {
    if (holderOf(state, job.unique.key) !== null) return 'duplicate';
    takeKey(state, job, null);
  }
  job.attempts = 0;
  job.deaths = 0;
  job.lapses = 0;
  job.alone = false;
  job.reason = null;
  job.finishedAtMs = null;
  job.endedBy = null;
  job.dueAtMs = state.now();
  state.makePending(job);
  return 'done';
}

/** What an operator asks of one job: at once where nothing runs, else as a request to its worker. */
export function stop(state: MemoryState, id: string, request: StopRequest): ControlOutcome {
  const job = state.jobs.get(id);
  if (job === undefined) return 'not-found';
  if (job.lease !== null) {
    job.lease.stopRequest = request;
    return 'requested';
  }
  if (request === 'delete') {
    deleteJob(state, job);
    return 'done';
  }
  if (isFinal(job.status)) return 'already-final';
  const status = request === 'cancel' ? 'cancelled' : 'buried';
  endJob(state, job, { status, reason: 'operator', endedBy: null });
  return 'done';
}

export function setPaused(state: MemoryState, queue: string, paused: boolean): void {
  if (paused) state.paused.add(queue);
  else if (state.paused.delete(queue)) state.awakened.add(queue);
}
