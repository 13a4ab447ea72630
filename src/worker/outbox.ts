/**
 * Results that storage has not yet acknowledged. A settlement stays here, over lost connections and however long they
 * last, until storage has answered for it; it is bounded by the jobs a worker can hold (slots and buffer).
 *
 * waiting ──take──▶ in flight ──acknowledge──▶ gone
 *    ▲                  └──────── give back ───────┐
 *    └─────────────────────────────────────────────┘
 */
import type { ClaimedJob, Lease } from '../storage/claimed-job.js';
import type { Settlement } from '../storage/settlement.js';

export interface OutboxEntry {
  readonly settlement: Settlement;
  /** What it was about, for the events after its acknowledgement; null for a lease this worker knew nothing of. */
  readonly job: ClaimedJob | null;
  readonly durationMs: number;
}

export class Outbox {
  #waiting: OutboxEntry[] = [];
  #inFlight: readonly OutboxEntry[] = [];

  /** Not acknowledged, in flight or not. */
  get size(): number {
    return this.#waiting.length + this.#inFlight.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(entry: OutboxEntry): void {
    this.#waiting.push(entry);
  }

  /** Oldest first, at most `limit`; they count as in flight until `acknowledge`. One batch is in flight at a time. */
  take(limit: number): readonly OutboxEntry[] {
    const batch = this.#waiting.length <= limit ? this.#waiting : this.#waiting.slice(0, limit);
    this.#waiting = this.#waiting.length <= limit ? [] : this.#waiting.slice(limit);
    this.#inFlight = batch;
    return batch;
  }

  acknowledge(): void {
    this.#inFlight = [];
  }

  /** Everything not acknowledged, for a snapshot of what this worker still answers for. */
  *leases(): Iterable<Lease> {
    for (const { settlement } of [...this.#inFlight, ...this.#waiting]) yield leaseOf(settlement);
  }

  /** Their ids alone. */
  *ids(): Iterable<string> {
    for (const { settlement } of this.#inFlight) yield settlement.id;
    for (const { settlement } of this.#waiting) yield settlement.id;
  }
}

const leaseOf = ({ id, token }: Settlement): Lease => ({ id, token });
