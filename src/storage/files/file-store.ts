/** Bytes under their own hash, nothing else: whose they are and what they are called is known by rows (`job-file.ts`). */

export interface ByteRange {
  readonly start: number;
  /** One past the last byte. */
  readonly end: number;
}

export interface StoredContent {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/**
 * Where bytes are kept: a folder, memory, later a bucket. An upload is a content that is still coming, under an id of its
 * own; it grows from its start without gaps, and can be gone on with by another process that has the same store.
 *
 * Errors of all: `file-store-full` (what was kept before is whole), `file-store-unusable`.
 */
export interface FileStore {
  /** How many bytes of this upload are here; 0 for a new one. */
  beginUpload(id: string): Promise<number>;
  /** Adds them at this place and answers how many bytes are here then; what is here already is passed over. Errors: `file-upload-lost` where there would be a gap. */
  writeUpload(id: string, offset: number, bytes: Uint8Array): Promise<number>;
  /** Makes a content of it, on disk for sure once it resolves. Errors: `file-upload-lost` when its size is another. */
  finishUpload(id: string, sizeBytes: number): Promise<StoredContent>;
  /** Forgets it. */
  dropUpload(id: string): Promise<void>;
  /** Errors, at the first piece: `file-not-found`. */
  open(sha256: string, range: ByteRange): AsyncIterable<Uint8Array>;
  /** Removes contents and uploads that were not touched for `olderThanMs`, contents only when `kept` does not name them. Answers how many contents went. */
  sweep(request: {
    readonly olderThanMs: number;
    readonly uploadsOlderThanMs: number;
    readonly kept: (hashes: readonly string[]) => Promise<readonly string[]>;
    readonly signal: AbortSignal;
  }): Promise<number>;
}
