/**
 * Files in a folder of this machine.
 *
 *   root/contents/ab/ab12…      a content under its SHA-256; never changed, only replaced by the same bytes
 *   root/incoming/<upload>      what is still coming
 *   root/leaving/<hash>.<n>     taken away by a sweep that has not made sure yet
 *
 * A content is written to `incoming`, made sure of on disk, and renamed; its row follows after that. A crash between the
 * two leaves bytes that no row names: a sweep removes those, and never what is younger than its age, since the row may
 * still be on its way. It first renames what it takes, and looks again at what it has got: bytes that were put anew
 * meanwhile, or that a row names by now, go back. Whoever opens a content in that moment tries again.
 *
 * Processes share the folder without locks: an upload is written by one at a time (whoever has the connection), and a
 * second writer writes the same bytes at the same places.
 */
import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pieceBytes } from './file-port.js';
import type { ByteRange, FileStore, StoredContent } from './file-store.js';
import { LocalSweep } from './local-sweep.js';
import { contentMissing, storeError, uploadLost } from './store-errors.js';

interface Upload {
  /** Ends the call before. */
  tail: Promise<unknown>;
  /** Of the first `hashed` bytes; null: it was begun elsewhere, and is read again at its end. */
  hash: Hash | null;
  hashed: number;
}

/** Uploads beyond are still whole; they are only read once more at their end. */
const mostHashes = 1_000;
const idPattern = /^[A-Za-z0-9-]{1,64}$/;
const openTries = 10;
const openPauseMs = 20;
export const privateMode = 0o700;

export class LocalFolder implements FileStore {
  readonly root: string;
  readonly #uploads = new Map<string, Upload>();

  constructor(root: string) {
    this.root = root;
  }

  beginUpload(id: string): Promise<number> {
    return this.#inTurn(id, async (upload) => {
      await mkdir(join(this.root, 'incoming'), { recursive: true, mode: privateMode });
      const handle = await open(this.#incoming(id), constants.O_RDWR | constants.O_CREAT, 0o600);
      try {
        const { size } = await handle.stat();
        if (size !== upload.hashed) upload.hash = null;
        return size;
      } finally {
        await handle.close();
      }
    });
  }

  writeUpload(id: string, offset: number, bytes: Uint8Array): Promise<number> {
    return this.#inTurn(id, async (upload) => {
      const handle = await open(this.#incoming(id), 'r+').catch(absent);
      if (handle === null) throw uploadLost(id, 'nothing of it is here');
      try {
        const { size } = await handle.stat();
        if (offset > size) throw uploadLost(id, `${size} bytes are here, the piece begins at ${offset}`);
        const fresh = bytes.subarray(size - offset);
        await writeAll(handle, fresh, size);
        if (upload.hash !== null && upload.hashed === size) {
          upload.hash.update(fresh);
          upload.hashed += fresh.length;
        } else upload.hash = null;
        return size + fresh.length;
      } finally {
        await handle.close();
      }
    });
  }

  finishUpload(id: string, sizeBytes: number): Promise<StoredContent> {
    return this.#inTurn(id, async (upload) => {
      const handle = await open(this.#incoming(id), 'r+').catch(absent);
      if (handle === null) throw uploadLost(id, 'nothing of it is here');
      let sha256: string;
      try {
        const { size } = await handle.stat();
        if (size !== sizeBytes) throw uploadLost(id, `expected ${sizeBytes} bytes, got ${size}`);
        const isHashed = upload.hash !== null && upload.hashed === size;
        sha256 = isHashed && upload.hash !== null ? upload.hash.digest('hex') : await hashOf(handle);
        upload.hash = null;
        // What was written long ago counts as young from here on, for its row comes now.
        const now = new Date();
        await handle.utimes(now, now);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await this.#keep(this.#incoming(id), sha256);
      this.#uploads.delete(id);
      return { sha256, sizeBytes };
    });
  }

  dropUpload(id: string): Promise<void> {
    return this.#inTurn(id, async () => {
      this.#uploads.delete(id);
      await unlink(this.#incoming(id)).catch(absent);
    });
  }

  async *open(sha256: string, { start, end }: ByteRange): AsyncIterable<Uint8Array> {
    const handle = await this.#guarded(() => this.#openContent(sha256));
    try {
      for (let at = start; at < end; ) {
        const buffer = Buffer.allocUnsafe(Math.min(pieceBytes, end - at));
        const position = at;
        const { bytesRead } = await this.#guarded(() => handle.read(buffer, 0, buffer.length, position));
        if (bytesRead === 0) return;
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  }

  sweep(request: Parameters<FileStore['sweep']>[0]): Promise<number> {
    return this.#guarded(() => new LocalSweep(this.root, request).run());
  }

  /** A sweep may hold it for a moment. */
  async #openContent(sha256: string): Promise<FileHandle> {
    for (let nth = 1; ; nth += 1) {
      const handle = await open(contentPath(this.root, sha256), 'r').catch(absent);
      if (handle !== null) return handle;
      if (nth === openTries) throw contentMissing(sha256);
      await pause(openPauseMs);
    }
  }

  async #keep(from: string, sha256: string): Promise<void> {
    const folder = join(this.root, 'contents', sha256.slice(0, 2));
    const made = await mkdir(folder, { recursive: true, mode: privateMode });
    await rename(from, contentPath(this.root, sha256));
    await syncFolder(folder);
    if (made !== undefined) await syncFolder(join(this.root, 'contents'));
  }

  #incoming(id: string): string {
    if (!idPattern.test(id)) throw uploadLost(id.slice(0, 100), 'this is no id of an upload');
    return join(this.root, 'incoming', id);
  }

  /** Calls for one upload come one after the other. */
  #inTurn<T>(id: string, run: (upload: Upload) => Promise<T>): Promise<T> {
    const known = this.#uploads.get(id);
    const upload = known ?? { tail: Promise.resolve(), hash: createHash('sha256'), hashed: 0 };
    this.#uploads.set(id, upload);
    if (this.#uploads.size > mostHashes) this.#uploads.delete([...this.#uploads.keys()][0] as string);
    const result = upload.tail.then(() => this.#guarded(() => run(upload)));
    upload.tail = result.catch(() => undefined);
    return result;
  }

  async #guarded<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw storeError(error, this.root);
    }
  }
}

export const contentPath = (root: string, sha256: string): string =>
  join(root, 'contents', sha256.slice(0, 2), sha256);

/** Where a file that is not there is an answer. */
export function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

async function hashOf(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(pieceBytes);
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** A rename is for sure only with its folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
