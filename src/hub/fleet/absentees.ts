/**
 * Workers whose socket was lost without a goodbye. They go on working, so this hub goes on renewing their leases, for
 * `WORKER_TTL`; then it lets go, and the leases lapse by their time. A return, here or at another hub, ends it at once.
 */
import { describeFailure } from '../../internal/failure.js';
import type { Storage } from '../../storage/storage.js';
import type { WorkerRecord } from '../../storage/worker-record.js';
import type { HubContext } from '../hub-context.js';

export interface Absentee {
  readonly id: string;
  readonly incarnation: string;
  readonly epoch: number;
}

interface Entry extends Absentee {
  readonly sinceMs: number;
  /** Storage knows that it is disconnected. */
  isNoted: boolean;
}

const parallel = 4;

export class Absentees {
  readonly #context: HubContext;
  readonly #entries = new Map<string, Entry>();

  constructor(context: HubContext) {
    this.#context = context;
  }

  get size(): number {
    return this.#entries.size;
  }

  get incarnations(): string[] {
    return [...this.#entries.keys()];
  }

  add(absentee: Absentee): void {
    this.#entries.set(absentee.incarnation, { ...absentee, sinceMs: performance.now(), isNoted: false });
  }

  /** It is back, or will never be. False: it was not absent. */
  end(incarnation: string): boolean {
    return this.#entries.delete(incarnation);
  }

  /** Tells storage of those it does not know of yet; a failure is tried again at the next call. */
  async note(storage: Storage): Promise<void> {
    await inParallel(this.#unnoted(), async (entry) => {
      try {
        const { id, incarnation, epoch } = entry;
        const isOurs = await storage.noteDisconnected(id, incarnation, epoch);
        entry.isNoted = true;
        // It is connected elsewhere, or gone: nothing of it is ours to renew.
        if (!isOurs) this.#letGo(entry);
      } catch (error) {
        this.#context.logger.debug('that a socket was lost could not be noted yet', {
          worker: entry.id,
          error: describeFailure(error).message,
        });
      }
    });
  }

  /** Renews for all that are absent; to be called every heartbeat. Rejects as storage does. `isHere`: it has a connection. */
  async renew(storage: Storage, isHere: (incarnation: string) => boolean): Promise<void> {
    const { ttlMs, leaseMs } = this.#context.settings;
    const workers = await storage.workers();
    for (const worker of workers)
      if (this.#isStray(worker) && !isHere(worker.incarnation)) this.#adopt(worker);
    const records = new Map(workers.map((record) => [record.id, record]));
    const nowMs = performance.now();
    await inParallel([...this.#entries.values()], async (entry) => {
      const record = records.get(entry.id);
      const isOurs =
        record !== undefined &&
        record.incarnation === entry.incarnation &&
        record.connectionEpoch === entry.epoch &&
        !record.gone;
      if (!isOurs) this.#letGo(entry);
      else if (nowMs - entry.sinceMs >= ttlMs) {
        // Kept until storage knows: whom it takes for connected it never forgets.
        if (!entry.isNoted) return;
        this.#letGo(entry);
        this.#context.logger.warn(`fleet: let go of worker ${entry.id}`, {
          absentForMs: Math.round(nowMs - entry.sinceMs),
        });
      } else if (this.#entries.get(entry.incarnation) === entry)
        await storage.renew(entry.incarnation, leaseMs);
    });
  }

  /** Storage takes it for connected to this hub, long after its last word: its hello failed half-way, or a note was lost. */
  #isStray({ hubId, gone, disconnectedForMs, silentForMs, incarnation }: WorkerRecord): boolean {
    const { hubId: self, settings } = this.#context;
    const isOurs = hubId === self && !gone && disconnectedForMs === null;
    return isOurs && silentForMs >= settings.heartbeatMs * 3 && !this.#entries.has(incarnation);
  }

  #adopt({ id, incarnation, connectionEpoch: epoch }: WorkerRecord): void {
    this.#context.metrics.alarms.add('worker-taken-for-connected');
    this.#context.logger.warn(`fleet: worker ${id} was taken for connected, and is not`);
    this.add({ id, incarnation, epoch });
  }

  #unnoted(): Entry[] {
    return [...this.#entries.values()].filter(({ isNoted }) => !isNoted);
  }

  #letGo(entry: Entry): void {
    if (this.#entries.get(entry.incarnation) === entry) this.#entries.delete(entry.incarnation);
  }
}

async function inParallel<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const next = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, rest.length) }, next));
}
