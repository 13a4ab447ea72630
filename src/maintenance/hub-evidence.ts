/**
 * Whether workers on a hub link have had their chance to renew: they reach the database through hubs alone. The evidence
 * is that this process has itself seen, for one whole lease and without a gap, that some hub was alive (not always the
 * same). A process too young to know goes by how long a hub that is alive has run, as it does by the server's uptime.
 *
 * Whose leases these are is told by the registration of the worker's id. A lease of an id that is not registered is
 * judged by the database alone: ids are forgotten after a silence much longer than a lease (the reaper's), so that a
 * fleet that gave up its hubs for good gets its jobs back all the same.
 */
import { type HubRecord, isHubAlive } from '../storage/hub-record.js';
import type { ExpiredLease } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';

export interface HubEvidenceOptions {
  readonly storage: Pick<Storage, 'hubs' | 'workers'>;
  readonly leaseMs: number;
  /** Monotonic ms. */
  readonly monotonic: () => number;
}

export class HubEvidence {
  readonly #options: HubEvidenceOptions;
  #alive: readonly HubRecord[] = [];
  /** Since when each look has found some hub alive. */
  #aliveSinceMs: number | null = null;

  constructor(options: HubEvidenceOptions) {
    this.#options = options;
  }

  /** One look. Rejects when storage does: the process has then seen nothing. */
  async look(): Promise<void> {
    try {
      this.#alive = (await this.#options.storage.hubs()).filter(isHubAlive);
    } catch (error) {
      this.forget();
      throw error;
    }
    if (this.#alive.length === 0) this.#aliveSinceMs = null;
    else this.#aliveSinceMs ??= this.#options.monotonic();
  }

  /** What was seen until now counts no more. */
  forget(): void {
    this.#alive = [];
    this.#aliveSinceMs = null;
  }

  /** Without leases of workers on a hub link that may have had no hub to renew them by. */
  async proven(leases: readonly ExpiredLease[]): Promise<readonly ExpiredLease[]> {
    if (leases.length === 0 || this.#hasWatchedLongEnough()) return leases;
    const workers = await this.#options.storage.workers();
    const onHubs = new Set(workers.filter(({ link }) => link === 'hub').map(({ id }) => id));
    return leases.filter((lease) => !onHubs.has(lease.workerId) || this.#isCovered(lease));
  }

  #hasWatchedLongEnough(): boolean {
    const { leaseMs, monotonic } = this.#options;
    return this.#aliveSinceMs !== null && monotonic() - this.#aliveSinceMs >= leaseMs;
  }

  /** It ended a whole lease ago, and a hub that is alive has run since. */
  #isCovered({ expiredForMs, leaseUntilMs }: ExpiredLease): boolean {
    if (expiredForMs < this.#options.leaseMs) return false;
    return this.#alive.some(({ startedAtMs }) => startedAtMs <= leaseUntilMs);
  }
}
