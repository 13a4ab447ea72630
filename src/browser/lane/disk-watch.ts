/**
 * Watches the disk on which Chromes of a worker write, and what each of them has there. From 85 % on the lanes without a job
 * make room: a Chrome whose folder is worth it is replaced, which wipes that folder, and what dead processes left is swept.
 * From 90 % on with less than 2 GB free they take no jobs until there is room again. Nothing of a job that runs is touched.
 */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type DiskFacts, type DiskState, judgeDisk, whyClean } from '../../core/disk-gate.js';
import { withDeadline } from '../../internal/deadline.js';
import { describeFailure } from '../../internal/failure.js';
import type { Logger } from '../../internal/logger.js';
import { setLongTimeout } from '../../internal/long-timeout.js';
import { sweepOwnedFolders } from '../../internal/owned-folder.js';
import { folderBytes } from './folder-bytes.js';

/** What it has of a lane. */
export interface DiskUser {
  /** Of its present Chrome; null: it has none. */
  readonly folder: string | null;
  /** Takes no jobs for this reason, in words; null: takes them again. */
  shut(reason: string | null): void;
  /** Has its Chrome replaced, unless a job runs in it. */
  renew(reason: string): void;
}

export interface DiskWatchOptions {
  /** In which the lanes have their folders. */
  readonly root: string;
  readonly lanes: readonly DiskUser[];
  readonly logger: Logger;
}

const everyMs = 30_000;
/** While lanes wait for room. */
const soonMs = 5_000;
const askMs = 10_000;
const megabyte = 1024 ** 2;

export class DiskWatch {
  readonly #options: DiskWatchOptions;
  #state: DiskState = 'open';
  #facts: DiskFacts | null = null;
  #folderBytes: readonly number[] = [];
  #timer: { cancel(): void } | null = null;
  #isOver = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
    void this.#look();
  }

  /** Why the lanes take no jobs, in words; null: they take them. */
  get refusal(): string | null {
    return this.#state === 'shut' ? this.#sentence() : null;
  }

  /** For the registration. */
  get report(): Readonly<Record<string, unknown>> {
    return {
      state: this.#state,
      usedPercent: this.#facts === null ? null : Math.round(this.#facts.usedShare * 100),
      freeMb: this.#facts === null ? null : Math.round(this.#facts.freeBytes / megabyte),
      foldersMb: this.#folderBytes.map((bytes) => Math.round(bytes / megabyte)),
    };
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { root, lanes, logger } = this.#options;
    try {
      const facts = await withDeadline(factsOf(root), { ms: askMs, name: 'a look at the disk of lanes' });
      if (this.#isOver) return;
      this.#facts = facts;
      this.#note(judgeDisk(this.#state, facts));
      if (this.#state !== 'open') void sweepOwnedFolders({ root, logger });
      const measured = Promise.all(lanes.map((lane) => this.#clean(lane)));
      this.#folderBytes = await withDeadline(measured, { ms: askMs, name: 'a look at the folders of lanes' });
    } catch (error) {
      logger.debug('browser lanes: their disk was not looked at', { error: describeFailure(error).message });
    }
    if (this.#isOver) return;
    const afterMs = this.#state === 'open' ? everyMs : soonMs;
    this.#timer = setLongTimeout(() => void this.#look(), afterMs, { unref: true });
  }

  #note(state: DiskState): void {
    const before = this.#state;
    this.#state = state;
    const { lanes, logger } = this.#options;
    if (state === 'shut' && before !== 'shut') logger.error(`browser lanes: ${this.#sentence()}`);
    if (before === 'shut' && state !== 'shut')
      logger.info('browser lanes: there is room again, jobs are taken');
    if (state === 'cleaning' && before === 'open')
      logger.warn('browser lanes: their disk is nearly full, lanes without a job make room', {
        ...this.report,
      });
    for (const lane of lanes) lane.shut(this.refusal);
  }

  /** Answers with what it measured. */
  async #clean(lane: DiskUser): Promise<number> {
    const { folder } = lane;
    if (folder === null) return 0;
    const bytes = await folderBytes(folder);
    const why = whyClean(this.#state, bytes);
    // A Chrome that came meanwhile has another folder.
    if (why !== null && lane.folder === folder && !this.#isOver) lane.renew(why);
    return bytes;
  }

  #sentence(): string {
    const { usedShare = 0, freeBytes = 0 } = this.#facts ?? {};
    const free = `${Math.round(usedShare * 100)} % full with ${Math.round(freeBytes / megabyte)} MB free`;
    return `the disk of ${this.#options.root} is ${free}: no jobs are taken until it is below 87 %, or has 2.25 GB free`;
  }
}

/** Null: nobody says. */
async function factsOf(folder: string): Promise<DiskFacts | null> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(folder);
    const used = blocks - bfree;
    if (used + bavail <= 0) return null;
    return { usedShare: used / (used + bavail), freeBytes: bavail * bsize };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && dirname(folder) !== folder ? await factsOf(dirname(folder)) : null;
  }
}
