import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import type { LaneKind } from './lane-kind.js';

/** Where a job can ask to run: in the worker itself, or in a child process of it. */
export type JobLane = Extract<LaneKind, 'inline' | 'process'>;

export const jobLanes: readonly JobLane[] = Object.freeze(['inline', 'process']);
export const defaultLane: JobLane = 'inline';

/** @throws MillraceError `option-invalid` */
export function parseJobLane(value: unknown): JobLane {
  const lane = jobLanes.find((known) => known === value);
  if (lane !== undefined) return lane;
  const expected = jobLanes.map((known) => `'${known}'`).join(' or ');
  throw new MillraceError(
    'option-invalid',
    `option "lane": expected ${expected}, got ${describeValue(value)}`,
  );
}
