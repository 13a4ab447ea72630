/**
 * Files of jobs where the database can be reached: bytes in a store, then their row.
 *
 * The row is written under the lease of the job, so who lost it adds nothing; the bytes it had brought belong to nobody
 * then, and a sweep removes them. Which store that is stands in the database (`open-folder.ts`).
 */
import { MillraceError } from '../../internal/errors.js';
import type { FileRecord, FileSweep } from '../job-file.js';
import type { Storage } from '../storage.js';
import { type FilePort, pieceBytes, type UploadStart, type UploadState } from './file-port.js';
import type { ByteRange, FileStore, StoredContent } from './file-store.js';
import { uploadLost } from './store-errors.js';

export type FileStorage = Pick<
  Storage,
  'addFile' | 'files' | 'file' | 'sweepFiles' | 'keptContents' | 'fileStoreId' | 'capabilities'
>;

export interface FileKeeperOptions {
  readonly storage: () => Promise<FileStorage>;
  /** The store of this database; null, only where it may not be made: there is none here. Errors: `file-store-elsewhere`. */
  readonly store: (storage: FileStorage, mayMake: boolean) => Promise<FileStore | null>;
  readonly mostBytes: number;
  readonly mostBytesOfJob: number;
}

/** The list of them fits into one message. */
const mostFilesOfJob = 2_000;
/** A row follows its bytes within a statement's deadline. */
const contentsAgeMs = 60 * 60_000;
const uploadsAgeMs = 24 * 60 * 60_000;
const sweepPage = 1_000;
/** Whose row fails and is not tried again; their bytes go with a sweep. */
const mostFinished = 1_000;

export class FileKeeper implements FilePort {
  readonly window = 1;
  readonly #options: FileKeeperOptions;
  #store: FileStore | null = null;
  #checking: Promise<FileStore> | null = null;
  /** Bytes that are kept, and whose row could not be written yet. */
  readonly #finished = new Map<string, StoredContent>();

  constructor(options: FileKeeperOptions) {
    this.#options = options;
  }

  async begin({ id, lease }: UploadStart): Promise<UploadState> {
    const store = await this.#open();
    const file = await (await this.#options.storage()).file(id);
    // Its last answer was lost.
    if (file !== null) {
      if (file.jobId !== lease.id) throw uploadLost(id, 'this is the id of another file');
      return { heldBytes: file.sizeBytes, file };
    }
    const finished = this.#finished.get(id);
    if (finished !== undefined) return { heldBytes: finished.sizeBytes, file: null };
    return { heldBytes: await store.beginUpload(id), file: null };
  }

  async piece({ id, name }: UploadStart, offset: number, bytes: Uint8Array): Promise<number> {
    const store = await this.#open();
    const { mostBytes } = this.#options;
    if (offset + bytes.length > mostBytes) {
      await store.dropUpload(id);
      throw tooLarge(name, mostBytes);
    }
    return await store.writeUpload(id, offset, bytes);
  }

  async end(start: UploadStart, sizeBytes: number): Promise<FileRecord> {
    const { id, lease, name, type } = start;
    const state = await this.begin(start);
    if (state.file !== null) return state.file;
    const store = await this.#open();
    const storage = await this.#options.storage();
    const content = this.#finished.get(id) ?? (await store.finishUpload(id, sizeBytes));
    this.#noteFinished(id, content);
    const { mostBytesOfJob: mostBytes } = this.#options;
    const file = { id, name, type, ...content };
    const outcome = await storage.addFile({ lease, file, mostBytes, mostFiles: mostFilesOfJob });
    this.#finished.delete(id);
    if (outcome.outcome === 'done') return outcome.file;
    throw outcome.outcome === 'full' ? jobFull(start, { ...outcome, mostBytes }) : leaseLost(start);
  }

  async drop({ id }: UploadStart): Promise<void> {
    await (await this.#open()).dropUpload(id);
  }

  async list(jobId: string): Promise<FileRecord[]> {
    return await (await this.#options.storage()).files(jobId);
  }

  async find(id: string): Promise<FileRecord | null> {
    return await (await this.#options.storage()).file(id);
  }

  async read(file: FileRecord, offset: number): Promise<Uint8Array> {
    const range = { start: offset, end: Math.min(offset + pieceBytes, file.sizeBytes) };
    const parts: Uint8Array[] = [];
    for await (const part of await this.open(file, range)) parts.push(part);
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  }

  /** The bytes of a file, or a part of them. */
  async open(file: FileRecord, range?: ByteRange): Promise<AsyncIterable<Uint8Array>> {
    const store = await this.#open();
    return store.open(file.sha256, range ?? { start: 0, end: file.sizeBytes });
  }

  /** Removes rows whose job is gone; answers how many. */
  async sweepRows(signal: AbortSignal): Promise<number> {
    const storage = await this.#options.storage();
    let removed = 0;
    for (let after: string | null = null; !signal.aborted; ) {
      const page: FileSweep = await storage.sweepFiles({ after, limit: sweepPage });
      removed += page.removed;
      if (page.next === null) break;
      after = page.next;
    }
    return removed;
  }

  /** Removes bytes that no row names, where the store is at hand; answers how many contents. */
  async sweepContents(signal: AbortSignal): Promise<number> {
    const storage = await this.#options.storage();
    const store = this.#store ?? (await this.#options.store(storage, false));
    if (store === null) return 0;
    return await store.sweep({
      olderThanMs: contentsAgeMs,
      uploadsOlderThanMs: uploadsAgeMs,
      kept: (hashes) => storage.keptContents(hashes),
      signal,
    });
  }

  #noteFinished(id: string, content: StoredContent): void {
    this.#finished.set(id, content);
    const [oldest] = this.#finished.keys();
    if (this.#finished.size > mostFinished && oldest !== undefined) this.#finished.delete(oldest);
  }

  /** @throws MillraceError `file-store-elsewhere` */
  async #open(): Promise<FileStore> {
    if (this.#store !== null) return this.#store;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null;
    });
    this.#store = await this.#checking;
    return this.#store;
  }

  async #check(): Promise<FileStore> {
    const storage = await this.#options.storage();
    const store = await this.#options.store(storage, true);
    if (store === null) throw new MillraceError('internal', 'a store of files could not be made');
    return store;
  }
}

function tooLarge(name: string, mostBytes: number): MillraceError {
  return new MillraceError(
    'file-too-large',
    `file "${name}": expected at most ${mostBytes} bytes (MILLRACE_MAX_FILE), got more. Raise the setting, or put it in parts`,
    { details: { name, maxBytes: mostBytes } },
  );
}

function jobFull(
  { name, lease }: UploadStart,
  { sizeBytes, count, mostBytes }: { sizeBytes: number; count: number; mostBytes: number },
): MillraceError {
  return new MillraceError(
    'files-full',
    `file "${name}": expected a job to have at most ${mostFilesOfJob} files and ${mostBytes} bytes in them (MILLRACE_MAX_JOB_FILES); this one has ${count} others with ${sizeBytes}. Raise the setting, or put fewer`,
    { details: { name, jobId: lease.id, sizeBytes, count, maxBytes: mostBytes } },
  );
}

function leaseLost({ name, lease }: UploadStart): MillraceError {
  return new MillraceError(
    'lease-lost',
    `file "${name}" was not added: this worker no longer holds the lease of job ${lease.id}`,
    { details: { jobId: lease.id, name } },
  );
}
