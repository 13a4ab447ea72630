import type { LeaseToken } from '../claimed-job.js';

/** What a settled row needs and no longer changes while the lease is held. */
export interface Facts {
  readonly token: LeaseToken;
  readonly queueId: number;
  readonly nameId: number;
  readonly due: number;
  readonly claimedAt: number;
  readonly workerId: number;
  readonly flags: number;
  readonly retentionMs: number | null;
}

/** More than any worker holds; the oldest go first, and are read from the database when they are settled after all. */
const most = 20_000;

/** Remembers what a claim returned until it is settled, so that a settle need not read it back. */
export class HeldFacts {
  readonly #facts = new Map<string, Facts>();

  /** For this lease only: another token under the same id is another lease. */
  get(id: string, token: LeaseToken): Facts | undefined {
    const facts = this.#facts.get(id);
    return facts?.token === token ? facts : undefined;
  }

  keep(id: string, facts: Facts): void {
    this.#facts.delete(id);
    this.#facts.set(id, facts);
    if (this.#facts.size <= most) return;
    for (const oldest of this.#facts.keys()) {
      this.#facts.delete(oldest);
      break;
    }
  }

  drop(id: string): void {
    this.#facts.delete(id);
  }

  clear(): void {
    this.#facts.clear();
  }
}
