/**
 * What the attempts of each handler took of late, over all workers: told to storage in sums, a few times a minute, and
 * read back as averages and peaks. Best effort: what can't be told or read is simply not known.
 */
import type { RecentProfile } from '../../core/admission.js';
import type { Logger } from '../../internal/logger.js';
import type { ProfileNote } from '../../storage/handler-profile.js';
import type { WorkerStorage } from '../../storage/worker-storage.js';
import { monotonicMs } from '../monotonic.js';

export interface HandlerProfilesOptions {
  readonly storage: Pick<WorkerStorage, 'noteProfiles' | 'profiles'>;
  readonly names: readonly string[];
  /** How far back attempts count. */
  readonly windowMs: number;
  /** How long what was read counts. */
  readonly ttlMs: number;
  readonly logger: Logger;
  readonly now?: () => number;
}

interface Sum {
  count: number;
  totalMs: number;
  maxRssBytes: number | null;
}

/** Attempts of so long are summed up before they are told. */
const tellEveryMs = 10_000;

export class HandlerProfiles {
  readonly #options: HandlerProfilesOptions;
  readonly #now: () => number;
  #known = new Map<string, RecentProfile>();
  #sums = new Map<string, Sum>();
  #hungriestBytes = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #toldAtMs: number;
  #current: Promise<void> | null = null;

  constructor(options: HandlerProfilesOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonicMs;
    this.#toldAtMs = this.#now();
  }

  of(name: string): RecentProfile | null {
    return this.#known.get(name) ?? null;
  }

  /** The most that an attempt of any of them was seen to use. */
  hungriestBytes(): number {
    return this.#hungriestBytes;
  }

  /** An attempt ended, however it did. */
  observe(name: string, durationMs: number): void {
    const sum = this.#sumOf(name);
    sum.count += 1;
    sum.totalMs += durationMs;
  }

  /** What an attempt used; beside `observe`. */
  observeMemory(name: string, rssBytes: number): void {
    const sum = this.#sumOf(name);
    sum.maxRssBytes = Math.max(sum.maxRssBytes ?? 0, rssBytes);
  }

  /** Tells and reads what is due; called now and then. Never rejects. */
  refresh(): Promise<void> {
    const now = this.#now();
    const isToTell = now - this.#toldAtMs >= tellEveryMs && this.#sums.size > 0;
    const isToRead = now - this.#readAtMs >= this.#options.ttlMs;
    if (!isToTell && !isToRead) return Promise.resolve();
    return this.#alone(async () => {
      if (isToTell) await this.#tell();
      if (isToRead) await this.#read();
    });
  }

  /** Tells the rest. Never rejects. */
  close(): Promise<void> {
    return this.#alone(() => this.#tell());
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    await this.#current;
    this.#current = work().catch((error: unknown) => {
      this.#options.logger.debug('profiles of handlers could not be told or read', { error });
    });
    await this.#current;
  }

  async #tell(): Promise<void> {
    const notes: ProfileNote[] = [...this.#sums].flatMap(([name, sum]) =>
      sum.count === 0 ? [] : [{ name, ...sum, totalMs: Math.round(sum.totalMs) }],
    );
    this.#sums = new Map();
    this.#toldAtMs = this.#now();
    if (notes.length > 0) await this.#options.storage.noteProfiles(notes);
  }

  async #read(): Promise<void> {
    const { storage, names, windowMs } = this.#options;
    this.#readAtMs = this.#now();
    const profiles = await storage.profiles(names, windowMs);
    this.#known = new Map(
      profiles.map(({ name, averageMs, peakRssBytes }) => [name, { averageMs, peakRssBytes }]),
    );
    this.#hungriestBytes = Math.max(0, ...profiles.map(({ peakRssBytes }) => peakRssBytes ?? 0));
  }

  #sumOf(name: string): Sum {
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      sum = { count: 0, totalMs: 0, maxRssBytes: null };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}
