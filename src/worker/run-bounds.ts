/** How much a worker may do before it is stopped, where it does not run until somebody stops it. */
export interface RunBounds {
  /** The time of the run is over then, monotonic ms: what could not end before is not started. Null: no end. */
  readonly endsAtMs: number | null;
  /** Most jobs that are started. Null: any number. */
  readonly mostJobs: number | null;
}

export const unbounded: RunBounds = Object.freeze({ endsAtMs: null, mostJobs: null });
