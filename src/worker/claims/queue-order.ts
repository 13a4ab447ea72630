/**
 * In which order the queues of a worker are served, for the slots of one kind: what to ask storage for, and what its
 * answers teach. Storage knows strict order alone; shares are made of several parts of a claim, each with a limit.
 *
 * What an answer leaves of a queue, until something wakes it:
 *   open ──fewer than there were free slots──▶ empty: nothing is there that could run
 *     └──enough for the free slots, but no more──▶ started only: nothing is there to be buffered. What must be started at
 *        once (limited jobs, jobs of queues with a budget) may still be there, so it is asked again for free slots.
 */
import type { ClaimedJob } from '../../storage/claimed-job.js';

/** Places for jobs. */
export interface Room {
  /** At most so many, 1 … 1000. */
  readonly limit: number;
  /** So many of them start at once, since a slot is free for each. */
  readonly start: number;
}

/** What to ask for of some queues: a part of a claim. */
export interface QueuePart extends Room {
  /** Strict order. */
  readonly queues: readonly string[];
}

export interface QueueOrder {
  /** Every queue that is served, in no order that matters. */
  readonly queues: readonly string[];
  /** Nothing that could run is known to wait in any queue. */
  readonly isEmpty: boolean;
  /** Whether asking may bring something, for cheap. */
  wants(room: Room): boolean;
  /** What to ask for: at most `mostParts` parts, with no queue in two of them; none when nothing is to be had. */
  split(room: Room, mostParts: number): QueuePart[];
  /** What came of a part, in the order of storage. */
  learn(part: QueuePart, got: readonly Pick<ClaimedJob, 'queue'>[]): void;
  /** These came beside any part. */
  noteGiven(jobs: readonly Pick<ClaimedJob, 'queue'>[]): void;
  /** Jobs may have come into these queues; null: into any. */
  open(queues: readonly string[] | null): void;
}
