/*
 * Wake-ups. Within the process: the storage object tells its watchers after each commit that made something claimable.
 * Across processes: every commit of another connection writes to the -wal file beside the database, which the operating
 * system reports. Reports of our own commits look the same; `data_version`, which only other connections change, tells
 * them apart. What changed is not known, so such a wake-up names no queue.
 *
 * The report comes before the commit counts: the file is written first, then synced (under FULL), and only then do others
 * see it, by a change in shared memory that nobody reports. So each report is followed by several looks, at once and
 * then after 1, 2, 4 … 128 ms.
 *
 * The -wal file is there, and stays the same one, for as long as a connection is open: each holds a shared lock on the
 * database, without which nobody can remove it. Where nothing is reported (network file systems), the poll of the waiting
 * worker remains.
 */
import { type FSWatcher, watch as watchFile } from 'node:fs';
import type { Logger } from '../../internal/logger.js';
import type { Connection } from './connection.js';
import { isBusy } from './errors.js';

export type OnWake = (queues: readonly string[] | null) => void;

const dataVersion = 'pragma data_version';
/** After a report: the last look comes 255 ms later. */
const mostLooks = 8;

export class WakeUps {
  readonly #db: Connection;
  readonly #logger: Logger;
  readonly #watchers = new Set<OnWake>();
  #walWatch: FSWatcher | undefined;
  #seenVersion = 0;
  #isLookDue = false;
  #looks = 0;
  #nextLook: NodeJS.Timeout | undefined;

  constructor(db: Connection, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
  }

  watch(onWake: OnWake): AsyncDisposable {
    // A function of its own, so that the same listener can watch twice.
    const watcher: OnWake = (queues) => onWake(queues);
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#watchWal();
    return {
      [Symbol.asyncDispose]: () => {
        this.#watchers.delete(watcher);
        if (this.#watchers.size === 0) this.#unwatchWal();
        return Promise.resolve();
      },
    };
  }

  /** After a commit of ours; the watchers are called outside of it. */
  wake(queues: ReadonlySet<string> | null): void {
    if (this.#watchers.size > 0) queueMicrotask(() => this.#tell(queues === null ? null : [...queues]));
  }

  close(): void {
    this.#watchers.clear();
    this.#unwatchWal();
  }

  #tell(queues: readonly string[] | null): void {
    for (const watcher of [...this.#watchers]) watcher(queues);
  }

  #watchWal(): void {
    const { file, isInMemory } = this.#db;
    if (isInMemory) return;
    this.#seenVersion = this.#version();
    const path = `${file}-wal`;
    try {
      this.#walWatch = watchFile(path, { persistent: false }, () => this.#reported());
      this.#walWatch.on('error', (error) => this.#unwatchable(path, error));
    } catch (error) {
      this.#unwatchable(path, error);
    }
  }

  #unwatchable(path: string, error: unknown): void {
    this.#logger.warn(
      'storage: jobs of other processes are found by polling only, the file cannot be watched',
      {
        path,
        error: error instanceof Error ? error.message : String(error),
      },
    );
  }

  /** Many reports of one turn of the loop are one look; each begins the looking anew. */
  #reported(): void {
    this.#looks = 0;
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    clearTimeout(this.#nextLook);
    setImmediate(() => {
      this.#isLookDue = false;
      this.#look();
    });
  }

  #look(): void {
    if (this.#watchers.size === 0) return;
    if (this.#looks < mostLooks) {
      this.#nextLook = setTimeout(() => this.#look(), 2 ** this.#looks).unref();
      this.#looks += 1;
    }
    const version = this.#version();
    if (version === this.#seenVersion) return;
    this.#seenVersion = version;
    this.#tell(null);
  }

  #version(): number {
    try {
      return this.#db.value<number>(dataVersion) ?? 0;
    } catch (error) {
      // Held for a moment by another connection, which is reason enough to wake up.
      if (isBusy(error)) return this.#seenVersion - 1;
      this.#unwatchable(this.#db.file, error);
      return this.#seenVersion;
    }
  }

  #unwatchWal(): void {
    clearTimeout(this.#nextLook);
    this.#walWatch?.close();
    this.#walWatch = undefined;
  }
}
