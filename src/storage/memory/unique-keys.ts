import type { HeldKey, MemoryJob, MemoryState } from './state.js';

/** Who holds the key now; a period that has passed holds nothing. */
export function holderOf(state: MemoryState, key: string): string | null {
  const held = state.uniqueKeys.get(key);
  return held === undefined || hasPassed(state, held) ? null : held.jobId;
}

export function hasPassed(state: MemoryState, held: HeldKey): boolean {
  return held.untilMs !== null && held.untilMs <= state.now();
}

export function takeKey(state: MemoryState, job: MemoryJob, untilMs: number | null): void {
  if (job.unique !== null) state.uniqueKeys.set(job.unique.key, { jobId: job.id, untilMs });
}

/** At the first claim. */
export function freeAtClaim(state: MemoryState, job: MemoryJob): void {
  if (job.unique?.scope === 'waiting') free(state, job);
}

/** At a final status; a period outlives it. */
export function freeAtEnd(state: MemoryState, job: MemoryJob): void {
  if (job.unique !== null && job.unique.scope !== 'period') free(state, job);
}

export function freeAtDeletion(state: MemoryState, job: MemoryJob): void {
  free(state, job);
}

/** Only a key that the job itself holds: after a period has passed another job may have it. */
function free(state: MemoryState, job: MemoryJob): void {
  if (job.unique !== null && state.uniqueKeys.get(job.unique.key)?.jobId === job.id) {
    state.uniqueKeys.delete(job.unique.key);
  }
}
