/**
 * What a worker holds, as its hub reckons it: what it named in its hello, and what was given since, less what it settled.
 * Storage may know more for a moment, a claim being on its way; what it knows three heartbeats in a row without this
 * inventory knowing it is an orphan: leased to a worker that was never told.
 */
import type { HeldLease, Lease } from '../../storage/claimed-job.js';

const beatsBeforeOrphan = 3;

interface Entry {
  readonly token: string;
  readonly sequence: number;
}

export class Inventory {
  readonly #entries = new Map<string, Entry>();
  #strikes = new Map<string, number>();
  #sequence = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** To be read before storage is asked: what is added later is not judged by its answer. */
  get mark(): number {
    return this.#sequence;
  }

  add(leases: readonly Lease[]): void {
    for (const { id, token } of leases) {
      this.#sequence += 1;
      this.#entries.set(id, { token, sequence: this.#sequence });
    }
  }

  remove(leases: readonly Lease[]): void {
    for (const lease of leases) if (this.has(lease)) this.#entries.delete(lease.id);
  }

  has({ id, token }: Lease): boolean {
    return this.#entries.get(id)?.token === token;
  }

  /** Compares with what storage said: forgets what is lost, and returns the orphans, each once. `isClaiming`: what is unknown may be on its way. */
  compare(held: readonly HeldLease[], mark: number, isClaiming: boolean): Lease[] {
    const tokens = new Map(held.map(({ id, token }) => [id, token]));
    for (const [id, { token, sequence }] of this.#entries) {
      if (sequence <= mark && tokens.get(id) !== token) this.#entries.delete(id);
    }
    const before = this.#strikes;
    this.#strikes = new Map();
    if (isClaiming) return [];
    const orphans: Lease[] = [];
    for (const { id, token } of held) {
      if (this.has({ id, token })) continue;
      const strikes = (before.get(token + id) ?? 0) + 1;
      if (strikes >= beatsBeforeOrphan) orphans.push({ id, token });
      else this.#strikes.set(token + id, strikes);
    }
    return orphans;
  }
}
