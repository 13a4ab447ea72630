import { createHash } from 'node:crypto';
import { pieceBytes } from './file-port.js';
import type { ByteRange, FileStore, StoredContent } from './file-store.js';
import { contentMissing, uploadLost } from './store-errors.js';

interface Content {
  readonly bytes: Buffer;
  readonly keptAtMs: number;
}

/** For databases in memory, and for attempts that belong to no job. */
export class MemoryStore implements FileStore {
  readonly #contents = new Map<string, Content>();
  readonly #uploads = new Map<string, { pieces: Buffer[]; size: number }>();

  beginUpload(id: string): Promise<number> {
    const upload = this.#uploads.get(id) ?? { pieces: [], size: 0 };
    this.#uploads.set(id, upload);
    return Promise.resolve(upload.size);
  }

  async writeUpload(id: string, offset: number, bytes: Uint8Array): Promise<number> {
    const upload = this.#uploads.get(id);
    if (upload === undefined || offset > upload.size) throw uploadLost(id, 'what came before is not here');
    const fresh = Buffer.from(bytes.subarray(upload.size - offset));
    upload.pieces.push(fresh);
    upload.size += fresh.length;
    return upload.size;
  }

  async finishUpload(id: string, sizeBytes: number): Promise<StoredContent> {
    const upload = this.#uploads.get(id);
    if (upload?.size !== sizeBytes)
      throw uploadLost(id, `expected ${sizeBytes} bytes, got ${upload?.size ?? 0}`);
    this.#uploads.delete(id);
    const bytes = Buffer.concat(upload.pieces);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.#contents.set(sha256, { bytes, keptAtMs: performance.now() });
    return { sha256, sizeBytes };
  }

  dropUpload(id: string): Promise<void> {
    this.#uploads.delete(id);
    return Promise.resolve();
  }

  async *open(sha256: string, { start, end }: ByteRange): AsyncIterable<Uint8Array> {
    const content = this.#contents.get(sha256);
    if (content === undefined) throw contentMissing(sha256);
    const upTo = Math.min(end, content.bytes.length);
    for (let at = start; at < upTo; at += pieceBytes)
      yield Buffer.from(content.bytes.subarray(at, Math.min(at + pieceBytes, upTo)));
  }

  async sweep({ olderThanMs, kept }: Parameters<FileStore['sweep']>[0]): Promise<number> {
    const untilMs = performance.now() - olderThanMs;
    const old = [...this.#contents].filter(([, { keptAtMs }]) => keptAtMs <= untilMs).map(([hash]) => hash);
    const keep = new Set(old.length === 0 ? [] : await kept(old));
    const gone = old.filter(
      (hash) => !keep.has(hash) && (this.#contents.get(hash)?.keptAtMs ?? 0) <= untilMs,
    );
    for (const hash of gone) this.#contents.delete(hash);
    return gone.length;
  }
}
