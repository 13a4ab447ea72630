import { isFinal, type JobStatus } from '../../core/job-status.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlChange, ControlOutcome, JobEdit } from '../settlement.js';
import { deleteJobs, endJobs } from './endings.js';
import { byId, dueAtMs, type MemoryJob, type MemoryState } from './state.js';
import { holderOf, takeKey } from './unique-keys.js';

export function retry(state: MemoryState, id: string): ControlOutcome {
  const job = state.jobs.get(id);
  if (job === undefined) return 'not-found';
  if (job.status === 'pending') {
    moveInLine(state, job, () => {
      job.dueAtMs = state.now();
      job.reason = null;
    });
    return 'done';
  }
  return job.status === 'buried' || job.status === 'cancelled' ? retryEnded(state, job) : 'not-allowed';
}

export function edit(state: MemoryState, id: string, edit: JobEdit): ControlOutcome {
  const job = state.jobs.get(id);
  if (job === undefined) return 'not-found';
  if (isFinal(job.status)) return 'already-final';
  if (job.status === 'pending') moveInLine(state, job, () => applyEdit(state, job, edit));
  else if (job.status === 'processing' || edit.due !== undefined) return 'not-allowed';
  else applyEdit(state, job, edit);
  return 'done';
}

function applyEdit(
  state: MemoryState,
  job: MemoryJob,
  { payload, version, priority, due, queue }: JobEdit,
): void {
  if (payload !== undefined) {
    job.payload = payload;
    job.version = version ?? job.version;
  }
  job.priority = priority ?? job.priority;
  job.queue = queue ?? job.queue;
  if (due === undefined) return;
  job.dueAtMs = dueAtMs(due, state.now());
  job.reason = null;
}

/** Takes a pending job out of its line for as long as its place changes. */
function moveInLine(state: MemoryState, job: MemoryJob, change: () => void): void {
  state.leavePending(job);
  change();
  state.makePending(job);
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
  return stopMany(state, [id], request)[0] ?? 'not-found';
}

function stopMany(state: MemoryState, ids: readonly string[], request: StopRequest): ControlOutcome[] {
  const ending: MemoryJob[] = [];
  const outcomes = ids.map((id): ControlOutcome => {
    const job = state.jobs.get(id);
    if (job === undefined) return 'not-found';
    if (job.lease !== null) {
      job.lease.stopRequest = request;
      return 'requested';
    }
    if (request !== 'delete' && isFinal(job.status)) return 'already-final';
    ending.push(job);
    return 'done';
  });
  if (request === 'delete') deleteJobs(state, ending);
  else {
    const status = request === 'cancel' ? 'cancelled' : 'buried';
    endJobs(state, ending, { status, reason: 'operator', endedBy: null });
  }
  return outcomes;
}

export function changeMany(
  state: MemoryState,
  { change, ids, status }: { change: ControlChange; ids: readonly string[]; status?: JobStatus },
): ControlOutcome[] {
  const isOpen = (id: string): boolean =>
    status === undefined || (state.jobs.get(id)?.status ?? status) === status;
  // Ascending: of those that want one unique key the lowest id gets it.
  const open = ids.filter(isOpen).sort();
  const outcomes = changeEach(state, change, open);
  const byJob = new Map(open.map((id, index) => [id, outcomes[index]]));
  return ids.map((id) => byJob.get(id) ?? 'not-allowed');
}

function changeEach(state: MemoryState, change: ControlChange, ids: readonly string[]): ControlOutcome[] {
  switch (change.kind) {
    case 'retry':
      return ids.map((id) => retry(state, id));
    case 'edit':
      return ids.map((id) => edit(state, id, change.edit));
    default:
      return stopMany(state, ids, change.kind);
  }
}

export function setPaused(state: MemoryState, queue: string, paused: boolean): void {
  if (paused) state.paused.add(queue);
  else if (state.paused.delete(queue)) state.awakened.add(queue);
}
