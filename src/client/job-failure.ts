import { type AttemptFailure, parseFailures } from '../internal/failure.js';

/** How one attempt failed. */
export interface JobFailure extends Omit<AttemptFailure, 'at'> {
  /** Time of the database. */
  readonly at: Date;
}

/** The failures kept with a job: the first and the newest nine. */
export function jobFailures(errors: string | null): JobFailure[] {
  return parseFailures(errors).map((failure) => ({ ...failure, at: new Date(failure.at) }));
}
