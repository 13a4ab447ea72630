import type { FileRecord } from '../storage/job-file.js';

/** A file that is kept with a job. */
export interface StoredFile {
  readonly id: string;
  /** As it was given, made harmless: no folders, nothing that can't be seen, at most 200 bytes. */
  readonly name: string;
  /** Its media type. */
  readonly type: string;
  readonly sizeBytes: number;
  /** Of its bytes, 64 hex digits. */
  readonly sha256: string;
  readonly createdAt: Date;
}

export type FileContent = Uint8Array | string | AsyncIterable<Uint8Array>;

export interface PutFileOptions {
  /** Media type. @default by the ending of the name */
  readonly type?: string;
  /** Gives the file up, beside the signal of the attempt. */
  readonly signal?: AbortSignal;
}

export interface OpenedFile {
  readonly file: StoredFile;
  /** Read as it is used; leaving the loop ends it. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** The files of a job, as its handler has them. */
export interface JobFiles {
  /**
   * Keeps a file with this job: it is streamed, and kept for sure once this resolves, whatever becomes of the attempt. The
   * same name again takes the place of the first. It goes when the job goes.
   *
   * @throws MillraceError `file-name-invalid`, `file-too-large`, `files-full`, `file-store-full`, `file-store-elsewhere`,
   *   `lease-lost` when the job is no longer this worker's
   *
   * @example
   * const { id } = await files.put('report.csv', createReadStream(path));
   */
  put(name: string, content: FileContent, options?: PutFileOptions): Promise<StoredFile>;
  /**
   * A file of this job by its name, or of any job by its id.
   *
   * @throws MillraceError `file-not-found`
   */
  get(nameOrId: string): Promise<OpenedFile>;
  /** The files of this job, by name. */
  list(): Promise<StoredFile[]>;
}

export function storedFile({ id, name, type, sizeBytes, sha256, createdAtMs }: FileRecord): StoredFile {
  return { id, name, type, sizeBytes, sha256, createdAt: new Date(createdAtMs) };
}
