import { withDeadline } from '../internal/deadline.js';
import { MillraceError } from '../internal/errors.js';
import type { Storage } from '../storage/storage.js';

/** An attempt to open takes its time with drivers, pools and a server that is away; beyond this it is no answer. */
const openDeadlineMs = 60_000;
const closeDeadlineMs = 15_000;
/** A server that accepts and says nothing is not waited for longer than that by somebody who wants to leave. */
const openGraceMs = 1_000;

export interface StorageAccessOptions {
  readonly create: () => Storage | Promise<Storage>;
  /** It was made for this client and ends with it. */
  readonly isOwned: boolean;
}

/** The storage of one client: opened on first use, once; a failure is forgotten, so that the next use tries again. */
export class StorageAccess {
  /** The open storage; null before the first use and after `close`. */
  current: Storage | null = null;
  readonly #options: StorageAccessOptions;
  #opening: Promise<Storage> | null = null;
  #isClosed = false;

  constructor(options: StorageAccessOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get(): Promise<Storage> {
    if (this.current !== null) return Promise.resolve(this.current);
    if (this.#isClosed) return Promise.reject(closedError());
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Takes no more calls, then ends what was opened here; what is still being opened then ends as soon as it can. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const storage = await this.#opened();
    this.current = null;
    if (storage !== null && this.#options.isOwned) {
      await withDeadline(storage.close(), { ms: closeDeadlineMs, name: 'closing the storage' });
    }
  }

  async #opened(): Promise<Storage | null> {
    if (this.#opening === null) return this.current;
    try {
      return await withDeadline(this.#opening, {
        ms: openGraceMs,
        name: 'opening the storage, when it was closed',
      });
    } catch {
      // It did not open, or not yet: then whoever waits for it learns that it is closed.
      return null;
    }
  }

  async #open(): Promise<Storage> {
    try {
      const storage = await this.#options.create();
      await withDeadline(storage.open(), { ms: openDeadlineMs, name: 'opening the storage' });
      if (this.#isClosed && this.#options.isOwned) await storage.close();
      if (this.#isClosed) throw closedError();
      this.current = storage;
      return storage;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }
}

export function closedError(): MillraceError {
  return new MillraceError('closed', 'this client was closed and takes no more calls');
}
