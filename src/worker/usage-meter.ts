import { statfs } from 'node:fs/promises';
import type { WorkerUsage } from '../storage/worker-record.js';
import { monotonicMs } from './monotonic.js';

interface Sample {
  readonly atMs: number;
  readonly cpuMs: number;
}

const diskEveryMs = 10_000;

/** What this process uses; the processor over a window of about a heartbeat, from samples taken by `tick`. */
export class UsageMeter {
  readonly #windowMs: number;
  readonly #folder: string | null;
  #samples: Sample[] = [];
  #disk: WorkerUsage['disk'] = null;
  #diskAtMs = Number.NEGATIVE_INFINITY;

  /** `folder`: whose file system is looked at; null for none. */
  constructor(options: { readonly windowMs: number; readonly folder: string | null }) {
    this.#windowMs = options.windowMs;
    this.#folder = options.folder;
  }

  tick(): void {
    const atMs = monotonicMs();
    const { user, system } = process.cpuUsage();
    this.#samples.push({ atMs, cpuMs: (user + system) / 1_000 });
    // One sample from before the window stays: differences start there.
    while ((this.#samples[1]?.atMs ?? atMs) < atMs - this.#windowMs) this.#samples.shift();
    if (this.#folder !== null && atMs - this.#diskAtMs >= diskEveryMs)
      void this.#readDisk(this.#folder, atMs);
  }

  read(loopLagMs: number): WorkerUsage {
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    const tookMs = (last?.atMs ?? 0) - (first?.atMs ?? 0);
    const cpu = tookMs > 0 ? ((last?.cpuMs ?? 0) - (first?.cpuMs ?? 0)) / tookMs : 0;
    return { cpu: Math.round(cpu * 1_000) / 1_000, rssBytes, heapBytes, loopLagMs, disk: this.#disk };
  }

  async #readDisk(folder: string, nowMs: number): Promise<void> {
    this.#diskAtMs = nowMs;
    try {
      const { bavail, blocks, bsize } = await statfs(folder);
      this.#disk = { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    } catch {
      // The folder may be gone; that is told by whoever needs it.
      this.#disk = null;
    }
  }
}
