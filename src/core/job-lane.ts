import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import { type LaneKind, laneKinds } from './lane-kind.js';

/** Where a job can ask to run: in the worker itself, in a child process of it, or beside a Chrome of it. */
export type JobLane = LaneKind;

export const jobLanes: readonly JobLane[] = laneKinds;
export const defaultLane: JobLane = 'inline';

/** @throws MillraceError `option-invalid` */
export function parseJobLane(value: unknown): JobLane {
  const lane = jobLanes.find((known) => known === value);
  if (lane !== undefined) return lane;
  const expected = jobLanes.map((known) => `'${known}'`).join(', ');
  throw new MillraceError(
    'option-invalid',
    `option "lane": expected one of ${expected}, got ${describeValue(value)}`,
  );
}
