/**
 * The connections of this hub, one per incarnation: the one with the highest epoch, which is the newest registration. An
 * older one is closed, whichever of the two comes to this table first, and what it says at its end touches nobody.
 */
import { closeCodes } from '../../protocol/link-terms.js';
import type { LinkedWorker } from './linked-worker.js';

export class Roster {
  readonly #workers = new Map<string, LinkedWorker>();

  get size(): number {
    return this.#workers.size;
  }

  [Symbol.iterator](): IterableIterator<LinkedWorker> {
    return this.#workers.values();
  }

  isCurrent(worker: LinkedWorker): boolean {
    return this.#workers.get(worker.incarnation) === worker;
  }

  /** By incarnation. */
  get(incarnation: string): LinkedWorker | undefined {
    return this.#workers.get(incarnation);
  }

  /** By worker id. */
  find(id: string): LinkedWorker | undefined {
    for (const worker of this.#workers.values()) if (worker.id === id) return worker;
    return undefined;
  }

  /** Gives it the place of the older one, and resolves once nothing is claimed for that any more. False: it is the older one. */
  async admit(worker: LinkedWorker): Promise<boolean> {
    const other = this.#workers.get(worker.incarnation);
    if (other !== undefined && other.epoch > worker.epoch) return false;
    this.#workers.set(worker.incarnation, worker);
    if (other === undefined || other === worker) return true;
    other.channel.close(closeCodes.superseded, 'a newer connection of this worker took its place');
    await other.idle();
    return this.isCurrent(worker);
  }

  /** False: another one has its place. */
  leave(worker: LinkedWorker): boolean {
    return this.isCurrent(worker) && this.#workers.delete(worker.incarnation);
  }
}
