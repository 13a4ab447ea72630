import { MillraceError } from '../../internal/errors.js';
import type { FileRecord } from '../job-file.js';
import { type FilePort, pieceBytes, type UploadStart, type UploadState } from './file-port.js';
import { MemoryStore } from './memory-store.js';

/** Files of an attempt that belongs to no job in a database: in memory, gone with it. */
export class LooseFiles implements FilePort {
  readonly window = 1;
  readonly #store = new MemoryStore();
  readonly #files = new Map<string, FileRecord>();

  async begin({ id }: UploadStart): Promise<UploadState> {
    return { heldBytes: await this.#store.beginUpload(id), file: null };
  }

  piece({ id }: UploadStart, offset: number, bytes: Uint8Array): Promise<number> {
    return this.#store.writeUpload(id, offset, bytes);
  }

  async end({ id, name, type, lease }: UploadStart, sizeBytes: number): Promise<FileRecord> {
    const content = await this.#store.finishUpload(id, sizeBytes);
    const file = { id, jobId: lease.id, name, type, ...content, createdAtMs: Date.now() };
    this.#files.set(name, file);
    return file;
  }

  drop({ id }: UploadStart): Promise<void> {
    return this.#store.dropUpload(id);
  }

  list(): Promise<FileRecord[]> {
    return Promise.resolve([...this.#files.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
  }

  find(id: string): Promise<FileRecord | null> {
    return Promise.resolve([...this.#files.values()].find((file) => file.id === id) ?? null);
  }

  async read({ sha256, sizeBytes }: FileRecord, offset: number): Promise<Uint8Array> {
    const range = { start: offset, end: Math.min(offset + pieceBytes, sizeBytes) };
    for await (const bytes of this.#store.open(sha256, range)) return bytes;
    throw new MillraceError('internal', 'a file in memory was read beyond its end');
  }
}
