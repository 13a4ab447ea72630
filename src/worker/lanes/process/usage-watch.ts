import { setLongTimeout } from '../../../internal/long-timeout.js';
import type { LaneUsage } from '../lane.js';
import { type ProcessUsage, readProcessUsage } from './process-usage.js';

/** A job that grows by 1 GB a second is found some 200 MB later. */
const busyEveryMs = 200;
const idleEveryMs = 2_000;
const megabyte = 1024 ** 2;

/**
 * Looks at a child from outside, again and again: ends it above its ceiling, and remembers what its job took, for when it
 * can't tell itself any more.
 */
export class UsageWatch {
  readonly #maxBytes: number;
  readonly #onExceeded: (reason: string) => void;
  #timer: { cancel(): void } | null = null;
  #generation = 0;
  #pid = 0;
  #isBusy = false;
  #last: ProcessUsage | null = null;
  #cpuMsBefore = 0;
  #peakRssBytes = 0;

  constructor(maxBytes: number, onExceeded: (reason: string) => void) {
    this.#maxBytes = maxBytes;
    this.#onExceeded = onExceeded;
  }

  get rssBytes(): number | null {
    return this.#last?.rssBytes ?? null;
  }

  /** A new child. */
  open(pid: number): void {
    this.close();
    this.#pid = pid;
    void this.#look(this.#generation);
  }

  close(): void {
    this.#generation += 1;
    this.#timer?.cancel();
    this.#timer = null;
    this.#last = null;
    this.#isBusy = false;
  }

  /** A job begins. */
  begin(): void {
    this.#isBusy = true;
    this.#cpuMsBefore = this.#last?.cpuMs ?? 0;
    this.#peakRssBytes = 0;
    this.#schedule(busyEveryMs);
  }

  /** The job has ended; what was seen of it, null when it was too short to be seen. */
  end(): LaneUsage | null {
    this.#isBusy = false;
    if (this.#last === null || this.#peakRssBytes === 0) return null;
    return { cpuMs: Math.max(this.#last.cpuMs - this.#cpuMsBefore, 0), peakRssBytes: this.#peakRssBytes };
  }

  async #look(generation: number): Promise<void> {
    const usage = await readProcessUsage(this.#pid);
    if (generation !== this.#generation) return;
    if (usage !== null) this.#take(usage);
    this.#schedule(this.#isBusy ? busyEveryMs : idleEveryMs);
  }

  #take(usage: ProcessUsage): void {
    this.#last = usage;
    if (this.#isBusy) this.#peakRssBytes = Math.max(this.#peakRssBytes, usage.rssBytes);
    if (usage.rssBytes <= this.#maxBytes) return;
    const [used, most] = [usage.rssBytes, this.#maxBytes].map((bytes) => Math.round(bytes / megabyte));
    this.#onExceeded(`used ${used} MB of memory, more than MILLRACE_LANE_MAX_MEMORY of ${most} MB`);
  }

  #schedule(ms: number): void {
    this.#timer?.cancel();
    const generation = this.#generation;
    this.#timer = setLongTimeout(() => void this.#look(generation), ms);
  }
}
