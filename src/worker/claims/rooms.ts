import type { Room } from './queue-order.js';

/** Storage takes no larger part in a claim. */
const maxClaim = 1_000;

export interface InlineFacts {
  /** Slots with nothing in them; below 0 when more run than there are slots. */
  readonly free: number;
  /** Jobs that wait for a slot here. */
  readonly buffered: number;
  /** So many are to be held ready beyond the slots. */
  readonly target: number;
}

/** What inline slots and their buffer have room for. The buffer is refilled when it is half empty, not job by job. */
export function inlineRoom({ free, buffered, target }: InlineFacts): Room | null {
  const idle = free - buffered;
  if (idle <= 0 && (target === 0 || buffered > target / 2)) return null;
  const limit = Math.min(Math.max(free, 0) + target - buffered, maxClaim);
  return limit < 1 ? null : { limit, start: Math.min(Math.max(idle, 0), limit) };
}

/** What lanes have room for: only what starts at once, since nothing is buffered for them. */
export function laneRoom(free: number): Room | null {
  const limit = Math.min(free, maxClaim);
  return limit < 1 ? null : { limit, start: limit };
}
