import { isFinal } from '../../core/job-status.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { followParents } from './endings.js';
import { type MemoryJob, type MemoryState, newMemoryJob } from './state.js';
import { holderOf, takeKey } from './unique-keys.js';

export function enqueue(state: MemoryState, jobs: readonly NewJob[]): EnqueueOutcome[] {
  return jobs.map((job) => enqueueOne(state, job));
}

function enqueueOne(state: MemoryState, job: NewJob): EnqueueOutcome {
  const refusal = whatStandsAgainst(state, job);
  if (refusal !== null) return refusal;
  const row = newMemoryJob(job, state.now());
  state.jobs.set(row.id, row);
  if (job.limit !== null) state.turns.name(job.limit.group, job.limit.key, state.now());
  if (job.idempotency !== null) {
    state.idempotencyKeys.set(job.idempotency.key, { jobId: row.id, inputHash: job.idempotency.inputHash });
  }
  const { unique } = job;
  takeKey(state, row, unique?.scope === 'period' ? state.now() + unique.periodMs : null);
  joinParents(state, row, job.after?.ids ?? []);
  return { outcome: 'created', id: row.id };
}

/** The order of these checks is part of the seam. */
function whatStandsAgainst(state: MemoryState, job: NewJob): EnqueueOutcome | null {
  if (state.jobs.has(job.id)) return { outcome: 'replayed', id: job.id };
  if (job.idempotency !== null) {
    const known = state.idempotencyKeys.get(job.idempotency.key);
    if (known !== undefined) {
      const same = known.inputHash === job.idempotency.inputHash;
      return { outcome: same ? 'replayed' : 'idempotency-conflict', id: known.jobId };
    }
  }
  const holder = job.unique === null ? null : holderOf(state, job.unique.key);
  if (holder !== null) return { outcome: 'duplicate', id: holder };
  const missing = job.after?.ids.find((id) => !state.jobs.has(id));
  return missing === undefined ? null : { outcome: 'parent-not-found', id: missing };
}

function joinParents(state: MemoryState, row: MemoryJob, parentIds: readonly string[]): void {
  let allCompleted = true;
  for (const parentId of parentIds) {
    const status = state.jobs.get(parentId)?.status ?? 'cancelled';
    row.parents.set(parentId, isFinal(status) ? 'met' : 'waiting');
    const siblings = state.dependents.get(parentId) ?? new Set();
    state.dependents.set(parentId, siblings.add(row.id));
    if (status === 'buried' || status === 'cancelled') allCompleted = false;
  }
  followParents(state, row, allCompleted);
}
