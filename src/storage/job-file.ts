import type { Lease } from './claimed-job.js';

/** What is kept of a file beside its bytes, which stand in a byte store under their hash (`files/`). */
export interface FileRecord {
  readonly id: string;
  readonly jobId: string;
  /** One of its kind within the job. */
  readonly name: string;
  readonly type: string;
  readonly sizeBytes: number;
  /** Of the bytes, 64 hex digits. */
  readonly sha256: string;
  readonly createdAtMs: number;
}

export type NewFile = Omit<FileRecord, 'jobId' | 'createdAtMs'>;

export interface FileAddition {
  /** Of the job: who lost it adds nothing any more. */
  readonly lease: Lease;
  readonly file: NewFile;
  /** Of all files of the job together. */
  readonly mostBytes: number;
  readonly mostFiles: number;
}

export type FileAdditionOutcome =
  | { readonly outcome: 'done'; readonly file: FileRecord }
  | { readonly outcome: 'lease-lost' }
  /** What the other files of the job take already. */
  | { readonly outcome: 'full'; readonly sizeBytes: number; readonly count: number };

export interface FileSweep {
  readonly removed: number;
  /** Where the next page begins; null: that was the last one. */
  readonly next: string | null;
}
