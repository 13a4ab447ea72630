/**
 * The singleton tasks of the system, run by whichever process with the database holds their row: recovery of expired
 * leases, forgetting of workers that are silent for long, release of blocked jobs that were missed, deletion of what is past
 * its retention, and of files that belong to nothing any more. A second holder does no harm,
 * every step being compare-and-set. Housekeeping of the engine (`tidy`) is each process's own.
 *
 * A failed round is logged (one that goes on failing now and then) and tried again at its next turn; one duty that fails never keeps the others from theirs.
 */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { withDeadline } from '../internal/deadline.js';
import { hasErrorCode, isMillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import { OutageLog } from '../internal/outage-log.js';
import { Service } from '../internal/service.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import type { Storage } from '../storage/storage.js';
import { Reaper } from './reaper.js';
import { Rescuer } from './rescuer.js';

export interface DutiesOptions {
  readonly storage: Storage;
  /** Who takes the rows: the incarnation of the worker that they stand beside, or the id of the hub that runs them. */
  readonly holder: string;
  /** @default 'worker' */
  readonly beside?: 'worker' | 'hub';
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly logRetentionMs: number;
  readonly staleReapMs: number;
  readonly reapIntervalMs: number;
  readonly logger: Logger;
  /** Files of jobs. @default they are left alone */
  readonly files?: FileKeeper | undefined;
  /** For each registration that was forgotten. @default nothing */
  readonly onForgotten?: () => void;
}

const cleanEveryMs = 60_000;
const sweepFilesEveryMs = 10 * 60_000;
/** A process that starts has better to do, and one that soon ends leaves it to others. */
const firstSweepAfterMs = 60_000;
const tidyEveryMs = 1_000;
const batch = 500;
/** A round that finds more than it can delete in this time leaves the rest to its next turn. */
const cleanForMs = 45_000;

export class Duties extends Service {
  readonly #options: DutiesOptions;
  readonly #rescuer: Rescuer;
  readonly #reaper: Reaper;
  #stopping = new AbortController();
  #rounds: Promise<unknown> = Promise.resolve();
  #jobsDone = 0;
  #tidiedUpTo = 0;
  #isIdle = true;

  constructor(options: DutiesOptions) {
    super('duties');
    this.#options = options;
    const { storage, leaseMs, logger } = options;
    this.#rescuer = new Rescuer({
      storage,
      leaseMs,
      logger,
      random: Math.random,
      monotonic: () => performance.now(),
    });
    this.#reaper = new Reaper({
      storage,
      self: options.beside === 'hub' ? { hubId: options.holder } : { incarnation: options.holder },
      staleMs: options.staleReapMs,
      everyMs: options.reapIntervalMs,
      logger,
      monotonic: () => performance.now(),
      onForgotten: options.onForgotten,
    });
  }

  /** Told what the worker beside it has done, for the engine's housekeeping. */
  noteProgress({ jobsDone, running }: { readonly jobsDone: number; readonly running: number }): void {
    this.#jobsDone = jobsDone;
    this.#isIdle = running === 0;
  }

  protected override doStart(): Promise<void> {
    this.#stopping = new AbortController();
    const rescueEveryMs = Math.max(this.#options.leaseMs / 3, 250);
    this.#rounds = Promise.all([
      this.#round('rescue', rescueEveryMs, () => this.#rescue(rescueEveryMs)),
      this.#round('reap', this.#options.reapIntervalMs, () => this.#reap()),
      this.#round('release', rescueEveryMs, () => this.#release(rescueEveryMs)),
      this.#round('clean', cleanEveryMs, () => this.#clean()),
      this.#afterAWhile(() => this.#round('sweep files', sweepFilesEveryMs, () => this.#sweepFiles())),
      this.#round('tidy', tidyEveryMs, () => this.#tidy()),
    ]);
    return Promise.resolve();
  }

  /** With storage that no longer answers a round may not end: after the time given it is left to itself. */
  protected override async doStop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    this.#stopping.abort();
    try {
      await withDeadline(this.#handBack(), { ms: deadlineMs, name: 'end of the duties' });
    } catch (error) {
      this.#options.logger.warn('the duties did not end in time and lapse by theirs', { error });
    }
  }

  async #handBack(): Promise<void> {
    await this.#rounds;
    for (const name of ['rescue', 'reap', 'release', 'clean']) {
      try {
        await this.#options.storage.releaseDuty(name, this.#options.holder);
      } catch (error) {
        // With the database away the row lapses by its time.
        this.#options.logger.debug('a duty could not be handed back', { duty: name, error });
      }
    }
  }

  async #round(name: string, everyMs: number, run: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    const { logger } = this.#options;
    const outage = new OutageLog();
    while (!signal.aborted) {
      try {
        await run();
        this.markProgress();
        const failures = outage.worked();
        if (failures > 0) logger.info(`duty ${name} works again`, { failures });
      } catch (error) {
        const isToTell = outage.failed(isMillraceError(error) ? error.code : 'unknown');
        const text = `duty ${name} failed, trying again at its next turn`;
        if (isToTell) logger.warn(text, { failures: outage.failures, error });
      }
      await delay(everyMs * (0.9 + 0.2 * Math.random()), undefined, { signal, ref: false }).catch(
        () => undefined,
      );
    }
  }

  async #afterAWhile(run: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    await delay(firstSweepAfterMs, undefined, { signal, ref: false }).catch(() => undefined);
    await run();
  }

  async #rescue(everyMs: number): Promise<void> {
    // Everyone watches, so that whoever takes the duty over has its evidence already; only the holder acts.
    const isHolder = await this.#rescuer.watching(everyMs, () => this.#take('rescue', everyMs));
    if (isHolder) await this.#rescuer.sweep({ expectedEveryMs: everyMs });
  }

  async #reap(): Promise<void> {
    // Everyone watches here too.
    await this.#reaper.sweep(await this.#take('reap', this.#options.reapIntervalMs));
  }

  async #release(everyMs: number): Promise<void> {
    if (!(await this.#take('release', everyMs))) return;
    const released = await this.#options.storage.releaseBlocked(batch);
    if (released > 0)
      this.#options.logger.warn('the sweep released blocked jobs that their parents had not', { released });
  }

  async #clean(): Promise<void> {
    const { storage, retentionMs, logRetentionMs, logger } = this.#options;
    if (!(await this.#take('clean', cleanEveryMs))) return;
    const purged = await this.#inBatches(() =>
      storage.purge({ statuses: ['completed', 'cancelled'], olderThanMs: retentionMs, limit: batch }),
    );
    const traces = await this.#inBatches(() =>
      storage.purgeTraces({ olderThanMs: logRetentionMs, limit: batch }),
    );
    if (purged + traces > 0) logger.info('cleaned up what is past its retention', { jobs: purged, traces });
  }

  /** Rows are looked through once for all, bytes once on each machine. The turns are never handed back, so that processes that come and go do not make more of them. */
  async #sweepFiles(): Promise<void> {
    const { files, logger, holder, storage } = this.#options;
    if (files === undefined) return;
    const { signal } = this.#stopping;
    const ttlMs = sweepFilesEveryMs * 0.8;
    try {
      const mayRows = await storage.takeDuty('sweep files', holder, ttlMs);
      const removed = mayRows ? await files.sweepRows(signal) : 0;
      const mayContents = await storage.takeDuty(`sweep files on ${hostname()}`, holder, ttlMs);
      const contents = mayContents ? await files.sweepContents(signal) : 0;
      if (removed + contents > 0)
        logger.info('removed files of jobs that are gone', { files: removed, contents });
    } catch (error) {
      // Before the migration that brings the tables there are no files.
      if (!hasErrorCode(error, 'schema-missing')) throw error;
    }
  }

  async #tidy(): Promise<void> {
    const done = this.#jobsDone;
    await this.#options.storage.tidy({ settled: done - this.#tidiedUpTo, idle: this.#isIdle });
    this.#tidiedUpTo = done;
  }

  #take(name: string, everyMs: number): Promise<boolean> {
    return this.#options.storage.takeDuty(name, this.#options.holder, everyMs * 3);
  }

  async #inBatches(run: () => Promise<number>): Promise<number> {
    let total = 0;
    const untilMs = performance.now() + cleanForMs / 2;
    while (performance.now() < untilMs && !this.#stopping.signal.aborted) {
      const count = await run();
      total += count;
      if (count < batch) break;
    }
    return total;
  }
}
