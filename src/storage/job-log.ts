/** A line that a handler wrote, or its progress. Best effort: dropped first, never in the way of a job. */
export interface NewLogLine {
  readonly id: string;
  /** Lease under which it was written; a line of a lost lease is refused silently. */
  readonly token: string;
  /** Counts up from 1 within the lease. */
  readonly seq: number;
  readonly kind: 'log' | 'progress';
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** At most 8 KB. For progress: JSON `{ done, total?, note? }`. */
  readonly text: string;
}

export interface LogLine {
  /** Position: pass the last one back as `after`. Ordered by lease (in order of claim), then seq. */
  readonly cursor: string;
  readonly seq: number;
  readonly atMs: number;
  readonly kind: 'log' | 'progress';
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
}
