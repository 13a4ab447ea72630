/**
 * Forgets registrations of workers that have been silent for long, on evidence. That a registration is old by the
 * database's clock is suspicion; it is forgotten only when this process has itself seen that very heartbeat stand still
 * for as long, by its own clock, with the database answering all the while. A clock that jumps, a database that was away,
 * and a process that was frozen or has just begun prove nothing.
 *
 * A view that fails, that is empty, or in which the one beside this reaper is missing (its worker; on a hub, that hub
 * among the hubs) is no view: what was watched by then counts no more. A worker that a hub which is alive has on a socket
 * is never forgotten, whatever its heartbeats: the socket is the better witness, and it is noted when it closes. Each registration goes by compare-and-set on the heartbeat that was seen. What operators wanted of
 * a worker is kept for when its id comes back (storage).
 */
import type { Logger } from '../internal/logger.js';
import { type HubRecord, isHubAlive } from '../storage/hub-record.js';
import type { Storage } from '../storage/storage.js';
import type { WorkerRecord } from '../storage/worker-record.js';

export interface ReaperOptions {
  readonly storage: Storage;
  /** Who must be in the view: the worker beside this reaper, by its incarnation, or the hub that it runs on, by its id. */
  readonly self: { readonly incarnation: string } | { readonly hubId: string };
  /** How long a worker must have been silent. */
  readonly staleMs: number;
  /** The rhythm of `sweep`. */
  readonly everyMs: number;
  readonly logger: Logger;
  /** Monotonic ms. */
  readonly monotonic: () => number;
  /** For each registration that was forgotten. @default nothing */
  readonly onForgotten?: (() => void) | undefined;
}

/** A heartbeat that did not change since. */
interface Watched {
  readonly heartbeatAtMs: number;
  readonly sinceMs: number;
}

export class Reaper {
  readonly #options: ReaperOptions;
  #watched = new Map<string, Watched>();
  #liveHubs: ReadonlySet<string> = new Set();
  #lookedAtMs: number | null = null;

  constructor(options: ReaperOptions) {
    this.#options = options;
  }

  /** One look; forgets what it has watched for long enough where `mayAct`. Rejects when storage does. */
  async sweep(mayAct = true): Promise<number> {
    const workers = await this.#look();
    if (workers === null || !mayAct) return 0;
    let forgotten = 0;
    for (const worker of workers) {
      if (!this.#isProvenStale(worker)) continue;
      if (!(await this.#options.storage.forgetSilent(worker.id, worker.heartbeatAtMs))) continue;
      forgotten += 1;
      this.#options.onForgotten?.();
      this.#tell(worker);
    }
    return forgotten;
  }

  /** Null: no view. */
  async #look(): Promise<readonly WorkerRecord[] | null> {
    const { storage, everyMs, monotonic } = this.#options;
    let workers: readonly WorkerRecord[];
    let hubs: readonly HubRecord[];
    try {
      workers = await storage.workers();
      hubs = await storage.hubs();
    } catch (error) {
      this.#watched.clear();
      throw error;
    }
    const nowMs = monotonic();
    const wasFrozen = this.#lookedAtMs !== null && nowMs - this.#lookedAtMs > 3 * everyMs;
    this.#lookedAtMs = nowMs;
    const isView = this.#isView(workers, hubs);
    if (wasFrozen || !isView) this.#watched.clear();
    if (!isView) return null;
    this.#liveHubs = new Set(hubs.filter(isHubAlive).map(({ id }) => id));
    const before = this.#watched;
    this.#watched = new Map(
      workers.map(({ id, heartbeatAtMs }) => {
        const seen = before.get(id);
        const isSame = seen?.heartbeatAtMs === heartbeatAtMs;
        return [id, isSame ? seen : { heartbeatAtMs, sinceMs: nowMs }];
      }),
    );
    return workers;
  }

  #isView(workers: readonly WorkerRecord[], hubs: readonly HubRecord[]): boolean {
    const { self } = this.#options;
    if (workers.length === 0) return false;
    if ('hubId' in self) return hubs.some((hub) => hub.id === self.hubId && isHubAlive(hub));
    return workers.some(({ incarnation }) => incarnation === self.incarnation);
  }

  #isConnected({ hubId, gone, disconnectedForMs }: WorkerRecord): boolean {
    return hubId !== null && !gone && disconnectedForMs === null && this.#liveHubs.has(hubId);
  }

  #isProvenStale(worker: WorkerRecord): boolean {
    if (this.#isConnected(worker)) return false;
    const { id, silentForMs } = worker;
    const { staleMs, monotonic } = this.#options;
    const seen = this.#watched.get(id);
    return silentForMs >= staleMs && seen !== undefined && monotonic() - seen.sinceMs >= staleMs;
  }

  #tell({ id, silentForMs, gone }: WorkerRecord): void {
    const last = gone ? 'goodbye' : 'last heartbeat';
    this.#options.logger.info(
      `reaper: forgot stale worker ${id} (${last} ${Math.round(silentForMs / 1_000)} s ago)`,
    );
  }
}
