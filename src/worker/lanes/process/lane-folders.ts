/**
 * Where the children of a worker's process lanes write what nobody needs after them: each child has a folder, which is its
 * TMPDIR, and in it each job one of its own, which is TMPDIR while it runs.
 *
 * A job's folder is wiped when its attempt has ended, a child's when its process is gone. What can't be killed may still
 * write: its folder stays, and whoever sweeps next looks whether it is over (see owned-folder.ts).
 *
 * A machine where no such folder can be made is told of once; its lanes then share the worker's TMPDIR, and it is tried
 * again, once a minute at most, before each child and each job.
 */
import { join } from 'node:path';
import { withDeadline } from '../../../internal/deadline.js';
import type { Logger } from '../../../internal/logger.js';
import { OwnedFolder } from '../../../internal/owned-folder.js';
import { monotonicMs } from '../../monotonic.js';

export interface LaneFoldersOptions {
  readonly logger: Logger;
  /** Lanes that share them. */
  readonly size: number;
  /** @default that of this user */
  readonly root?: string;
  /** @default a minute */
  readonly retryMs?: number;
}

const defaultRetryMs = 60_000;
/** Emptying what jobs wrote holds up no stop for longer; a sweep finishes it. */
const removeMs = 1_000;

export class LaneFolders {
  readonly #options: LaneFoldersOptions;
  readonly #left = new Set<number>();
  #owned: Promise<OwnedFolder> | null = null;
  #children = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #isAnyStuck = false;

  constructor(options: LaneFoldersOptions) {
    this.#options = options;
  }

  /** For a child that is about to be spawned; null where there is none to be had. */
  async forChild(lane: number): Promise<ChildFolder | null> {
    const { logger, root, retryMs = defaultRetryMs } = this.#options;
    const isFirst = this.#failedAtMs === Number.NEGATIVE_INFINITY;
    if (this.#left.has(lane) || monotonicMs() - this.#failedAtMs < retryMs) return null;
    try {
      this.#owned ??= OwnedFolder.create({ kind: 'lanes', logger, ...(root === undefined ? {} : { root }) });
      const owned = await this.#owned;
      const name = `lane-${lane}-${++this.#children}`;
      const path = await owned.part(name);
      if (!isFirst) logger.info('process lanes have folders of their own again');
      this.#failedAtMs = Number.NEGATIVE_INFINITY;
      return new ChildFolder({ owned, name, path, onStuck: () => this.#noteStuck() });
    } catch (error) {
      this.#owned = null;
      if (isFirst) logger.warn('process lanes have no folders of their own', { error });
      this.#failedAtMs = monotonicMs();
      return null;
    }
  }

  /** A lane has stopped; the last one takes them all away. */
  async leave(lane: number): Promise<void> {
    this.#left.add(lane);
    const owned = this.#owned;
    if (this.#left.size < this.#options.size || owned === null) return;
    this.#owned = null;
    try {
      const removed = owned.then((folder) => (this.#isAnyStuck ? folder.abandon() : folder.remove()));
      await withDeadline(removed, { ms: removeMs, name: 'removal of the folders of lanes' });
    } catch (error) {
      this.#options.logger.debug('folders of lanes are left to the next sweep', { error });
    }
  }

  #noteStuck(): void {
    this.#isAnyStuck = true;
  }
}

interface ChildFolderParts {
  readonly owned: OwnedFolder;
  readonly name: string;
  readonly path: string;
  readonly onStuck: () => void;
}

export class ChildFolder {
  readonly path: string;
  readonly #parts: ChildFolderParts;

  constructor(parts: ChildFolderParts) {
    this.path = parts.path;
    this.#parts = parts;
  }

  /** Not made yet: that is the child's to do. */
  ofJob(run: number): string {
    return join(this.path, jobName(run));
  }

  noteUser(pid: number): void {
    const { owned, name } = this.#parts;
    // Without it a sweep does not end the group, which its own guard does as well.
    owned.noteUser(name, pid).catch(() => undefined);
  }

  /** The attempt has ended, by the child's own word. */
  jobEnded(run: number): void {
    const { owned, name } = this.#parts;
    void owned.wipe(join(name, jobName(run)));
  }

  /** The child is gone, or is known to hang in the kernel. */
  childEnded(isReaped: boolean): void {
    const { owned, name, onStuck } = this.#parts;
    if (isReaped) void owned.wipe(name);
    else onStuck();
  }
}

const jobName = (run: number): string => `job-${run}`;
