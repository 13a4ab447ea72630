/** Attempts of one handler that ended, as a worker sums them up. */
export interface ProfileNote {
  readonly name: string;
  /** At least 1. */
  readonly count: number;
  /** Of all of them, whole. */
  readonly totalMs: number;
  /** The most memory that one of them was seen to use; null where it can't be told. */
  readonly maxRssBytes: number | null;
}

/** What the attempts of one handler took, over a window of time. */
export interface HandlerProfile {
  readonly name: string;
  readonly count: number;
  readonly averageMs: number;
  readonly peakRssBytes: number | null;
}
