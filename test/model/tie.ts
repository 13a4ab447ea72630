import { isDeepStrictEqual } from 'node:util';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';

/**
 * What one call makes due, the model makes due at one moment; an engine needs several statements, and by then its clock may
 * be a few ms further. Two calls are always further apart than this.
 */
const SAME_CALL_MS = 200;

/**
 * Two answers of a claim that differ only in which of several jobs came first that fell due at the same moment. Both are
 * right, but from there on the two storages hold different jobs.
 */
export function isTie(engine: unknown, model: unknown): boolean {
  const [ours, theirs] = [claimedIn(engine), claimedIn(model)];
  if (ours === null || theirs === null || ours.length !== theirs.length) return false;
  if (!isDeepStrictEqual(settledIn(engine), settledIn(model))) return false;
  return ours.every((job, index) => {
    const other = theirs[index] as ClaimedJob;
    const isSamePlace = job.queue === other.queue && job.priority === other.priority;
    return isSamePlace && Math.abs(job.dueAtMs - other.dueAtMs) < SAME_CALL_MS;
  });
}

function claimedIn(answer: unknown): readonly ClaimedJob[] | null {
  if (Array.isArray(answer)) return answer as ClaimedJob[];
  if (typeof answer !== 'object' || answer === null || !('claimed' in answer)) return null;
  return answer.claimed as ClaimedJob[];
}

function settledIn(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'settled' in answer ? answer.settled : null;
}
