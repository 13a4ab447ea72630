import type { Storage } from '../storage/storage.js';

/** The database's clock as it was last read, counted on by this machine's monotonic clock. Before it was read: this machine's own. */
export class DatabaseClock {
  #aheadMs = Date.now() - performance.now();

  nowMs(): number {
    return Math.round(performance.now() + this.#aheadMs);
  }

  /** Rejects as storage does. */
  async read(storage: Storage): Promise<void> {
    const before = performance.now();
    const now = await storage.now();
    this.#aheadMs = now - (before + performance.now()) / 2;
  }
}
