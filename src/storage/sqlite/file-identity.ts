/*
 * An open file stays writable after somebody has removed it or put another in its place: what is written from then on is
 * read by nobody. So the file, its -wal and its -shm are remembered by device and inode, which the system gives to no
 * other file while ours are open, and looked at again before a transaction, at most every 100 ms. What was answered in
 * between shares the fate of everything else in the file that was removed.
 *
 * A file that was put back is taken for what it is, the same one. Another in its place is not opened here: leases, wake-ups
 * and prepared statements belong to the old one, so who restores a backup stops the processes first.
 */
import { realpathSync, statSync } from 'node:fs';
import { MillraceError } from '../../internal/errors.js';
import { isMemoryFile } from './connection.js';

/** Three looks cost about 10 µs. */
const lookEveryMs = 100;

interface Part {
  readonly path: string;
  readonly identity: string;
}

export class FileIdentity {
  readonly #file: string;
  readonly #parts: readonly Part[];
  #lookAt = 0;
  #lost: MillraceError | undefined;

  /** Of a file that is open as a WAL database and has been read once, so that its -wal and -shm are there. */
  constructor(file: string) {
    this.#file = file;
    this.#parts = isMemoryFile(file) ? [] : partsOf(file);
  }

  /** @throws MillraceError `database-gone` */
  require(): void {
    if (this.#parts.length === 0) return;
    const now = performance.now();
    if (now >= this.#lookAt) {
      this.#lookAt = now + lookEveryMs;
      this.#lost = this.#look();
    }
    if (this.#lost !== undefined) throw this.#lost;
  }

  #look(): MillraceError | undefined {
    for (const { path, identity } of this.#parts) {
      const found = identityOf(path);
      if (found === identity || found === 'unknown') continue;
      const what = found === 'none' ? 'removed' : 'replaced by another file';
      return new MillraceError(
        'database-gone',
        `${path} was ${what} while the SQLite file ${this.#file} was open here, so nothing more is read from it or written to it. ` +
          'Put it back as it was; or stop every process that has it open, restore the file, and start them again',
        { details: { file: this.#file, path } },
      );
    }
    return undefined;
  }
}

/** SQLite keeps -wal and -shm beside the file itself, not beside a link to it; a link that is turned elsewhere is another file. */
function partsOf(file: string): Part[] {
  const real = realOf(file);
  return [file, `${real}-wal`, `${real}-shm`]
    .map((path) => ({ path, identity: identityOf(path) }))
    .filter(({ identity }) => identity !== 'none' && identity !== 'unknown');
}

function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    // Not allowed to look along its path: the names beside the link are then looked for, and may not be found.
    return file;
  }
}

function identityOf(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? 'none' : `${found.dev}:${found.ino}`;
  } catch {
    // Its folder may not be looked into any more, which says nothing about the file.
    return 'unknown';
  }
}
