import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileStore } from './file-store.js';

const hashPattern = /^[0-9a-f]{64}$/;
const shelfPattern = /^[0-9a-f]{2}$/;
const leavingPattern = /^([0-9a-f]{64})\.[0-9a-f]+$/;
const batch = 500;

/** One look through the folder of a store, as its head says. What is not named like one of ours is left alone. */
export class LocalSweep {
  readonly #root: string;
  readonly #request: Parameters<FileStore['sweep']>[0];

  constructor(root: string, request: Parameters<FileStore['sweep']>[0]) {
    this.#root = root;
    this.#request = request;
  }

  async run(): Promise<number> {
    await this.#endEarlierLeavings();
    await this.#removeOldUploads();
    let removed = 0;
    for (const shelf of (await names(join(this.#root, 'contents'))).filter((name) =>
      shelfPattern.test(name),
    )) {
      if (this.#request.signal.aborted) break;
      removed += await this.#sweepShelf(join(this.#root, 'contents', shelf));
    }
    return removed;
  }

  async #sweepShelf(folder: string): Promise<number> {
    const hashes = (await names(folder)).filter((name) => hashPattern.test(name));
    let removed = 0;
    for (let from = 0; from < hashes.length && !this.#request.signal.aborted; from += batch) {
      const old: string[] = [];
      for (const hash of hashes.slice(from, from + batch))
        if (await this.#isOld(join(folder, hash), this.#request.olderThanMs)) old.push(hash);
      if (old.length === 0) continue;
      const kept = new Set(await this.#request.kept(old));
      for (const hash of old)
        if (!kept.has(hash) && (await this.#remove(join(folder, hash), hash))) removed += 1;
    }
    return removed;
  }

  async #remove(path: string, hash: string): Promise<boolean> {
    const leaving = join(this.#root, 'leaving');
    await mkdir(leaving, { recursive: true, mode: 0o700 });
    const away = join(leaving, `${hash}.${randomBytes(6).toString('hex')}`);
    try {
      await rename(path, away);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    return await this.#end(away, hash);
  }

  /** False: it was put anew, or has a row by now, and is back. */
  async #end(away: string, hash: string): Promise<boolean> {
    const isOld = await this.#isOld(away, this.#request.olderThanMs);
    const isFree = isOld && (await this.#request.kept([hash])).length === 0;
    // Where the same bytes came meanwhile, they stay.
    if (!isFree) {
      await link(away, join(this.#root, 'contents', hash.slice(0, 2), hash)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
    }
    await unlink(away);
    return isFree;
  }

  /** Of a sweep that died. */
  async #endEarlierLeavings(): Promise<void> {
    for (const name of await names(join(this.#root, 'leaving'))) {
      const hash = leavingPattern.exec(name)?.[1];
      const away = join(this.#root, 'leaving', name);
      if (hash !== undefined && (await this.#isOld(away, this.#request.olderThanMs)))
        await this.#end(away, hash);
    }
  }

  async #removeOldUploads(): Promise<void> {
    const folder = join(this.#root, 'incoming');
    for (const name of await names(folder)) {
      const path = join(folder, name);
      if (await this.#isOld(path, this.#request.uploadsOlderThanMs))
        await unlink(path).catch(() => undefined);
    }
  }

  /** What can't be looked at is not. */
  async #isOld(path: string, ms: number): Promise<boolean> {
    try {
      return Date.now() - (await stat(path)).mtimeMs >= ms;
    } catch {
      // It has gone, or is not ours to judge.
      return false;
    }
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
