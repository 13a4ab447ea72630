import type { JobStatus } from '../../core/job-status.js';

/** How a status is written in a column. Final ones are 3 and up. */
export const statusCodes = Object.freeze({
  pending: 0,
  blocked: 1,
  processing: 2,
  completed: 3,
  buried: 4,
  cancelled: 5,
}) satisfies Readonly<Record<JobStatus, number>>;

/** The status of a code, at its index. */
export const statusOfCode: readonly JobStatus[] = Object.freeze([
  'pending',
  'blocked',
  'processing',
  'completed',
  'buried',
  'cancelled',
]);

export const firstFinalCode: number = statusCodes.completed;

/** The order in which lists show them. */
export const listOrder: readonly JobStatus[] = Object.freeze([
  'processing',
  'pending',
  'blocked',
  'buried',
  'cancelled',
  'completed',
]);
