import type { JobStatus } from '../../core/job-status.js';
import type { StopRequest } from '../claimed-job.js';
import type { FailedParentPolicy, UniqueScope } from '../new-job.js';

/** Numbers that stand in the tables for words of the seam; part of the schema. */
export const statusCode = Object.freeze({
  pending: 0,
  processing: 1,
  blocked: 2,
  completed: 3,
  buried: 4,
  cancelled: 5,
} as const satisfies Record<JobStatus, number>);

const statuses: readonly JobStatus[] = [
  'pending',
  'processing',
  'blocked',
  'completed',
  'buried',
  'cancelled',
];
export const statusOf = (code: number): JobStatus => statuses[code] ?? 'pending';

/**
 * `line` of ordinary jobs. Above it stand the ids of lines, and below it the jobs that only a claim with `alone` takes,
 * of line n at −1 − n: an ordinary one at −1.
 */
export const ordinaryLine = 0;
export const aloneLine = -1;
export const isAloneLine = (line: number): boolean => line < ordinaryLine;
/** Which line bounds a job, whether it must run alone or not. */
export const lineBehind = (line: number): number => (line < ordinaryLine ? -1 - line : line);

/** Bits of `care`: what a plain settle leaves to the followed path. */
export const care = Object.freeze({ followed: 1, stopRequested: 2, holdsKey: 4 } as const);

export const stopCode = Object.freeze({ cancel: 1, bury: 2, delete: 3 } as const satisfies Record<
  StopRequest,
  number
>);
const stops: readonly (StopRequest | null)[] = [null, 'cancel', 'bury', 'delete'];
export const stopOf = (code: number): StopRequest | null => stops[code] ?? null;

/** 0 = no unique key. */
export const scopeCode = Object.freeze({
  waiting: 1,
  active: 2,
  period: 3,
} as const satisfies Record<UniqueScope, number>);

export const policyCode = Object.freeze({
  bury: 1,
  cancel: 2,
  run: 3,
} as const satisfies Record<FailedParentPolicy, number>);

export const keyKind = Object.freeze({ unique: 1, idempotency: 2 } as const);
