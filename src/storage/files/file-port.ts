import { filePieceBytes } from '../../protocol/link-terms.js';
import type { Lease } from '../claimed-job.js';
import type { FileRecord } from '../job-file.js';

/** What is said of a file before its bytes come. */
export interface UploadStart {
  /** Of the upload, and then of the file. */
  readonly id: string;
  readonly lease: Lease;
  readonly name: string;
  readonly type: string;
}

/** How far an upload has come; `file` once it has ended. */
export interface UploadState {
  readonly heldBytes: number;
  readonly file: FileRecord | null;
}

/** The largest piece, either way. */
export const pieceBytes = filePieceBytes;

/**
 * Files as an attempt reaches them, piece by piece, whatever lies between: nothing (storage link), a pipe (process lane), a
 * socket (hub link). Every call can be repeated.
 *
 * Errors: `lease-lost`, `file-too-large`, `files-full`, `file-upload-lost`, `file-not-found`, `file-store-full`,
 * `file-store-elsewhere`, `file-store-unusable`, and those of the way.
 */
export interface FilePort {
  /** How many pieces may be on their way at once. */
  readonly window: number;
  begin(start: UploadStart): Promise<UploadState>;
  /** Answers how many bytes are held then. */
  piece(start: UploadStart, offset: number, bytes: Uint8Array): Promise<number>;
  end(start: UploadStart, sizeBytes: number): Promise<FileRecord>;
  /** It will not go on. */
  drop(start: UploadStart): Promise<void>;
  list(jobId: string): Promise<FileRecord[]>;
  find(id: string): Promise<FileRecord | null>;
  /** At most `pieceBytes` of a file, from `offset`; fewer only at its end. */
  read(file: FileRecord, offset: number): Promise<Uint8Array>;
}
