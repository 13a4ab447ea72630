/**
 * Reads each second what operators want of the whole fleet, in one question each, and tells the workers that are connected
 * here what has changed for them. What was told and perhaps not heard comes again with their next heartbeat; a job that is
 * to be stopped and still runs is told of again.
 */
import type { HeldLease } from '../../storage/claimed-job.js';
import { incarnationOf } from '../../storage/claimed-job.js';
import type { Storage } from '../../storage/storage.js';
import type { FleetOrders } from '../../storage/worker-record.js';
import type { HubContext } from '../hub-context.js';
import type { LinkedWorker, Orders } from '../link/linked-worker.js';
import type { Roster } from '../link/roster.js';

const againMs = 5_000;

export interface FleetWatchParts {
  readonly context: HubContext;
  readonly roster: Roster;
  /** A worker may take jobs again. */
  readonly onReleased: (worker: LinkedWorker) => void;
}

export class FleetWatch {
  readonly #parts: FleetWatchParts;
  #orders: FleetOrders | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #byWorker = new Map<string, FleetOrders['workers'][number]>();
  /** When these stops were last told, by incarnation and job. */
  readonly #told = new Map<string, Map<string, number>>();

  constructor(parts: FleetWatchParts) {
    this.#parts = parts;
  }

  /** To be called every second. Rejects as storage does. */
  async look(storage: Storage): Promise<void> {
    const askedAtMs = performance.now();
    const orders = await storage.fleetOrders();
    this.#orders = orders;
    this.#readAtMs = askedAtMs;
    this.#byWorker = new Map(orders.workers.map((worker) => [worker.id, worker]));
    for (const worker of this.#parts.roster) this.#tellOrders(worker, orders);
    const incarnations = [...this.#parts.roster].map(({ incarnation }) => incarnation);
    if (incarnations.length > 0) this.#tellStops(await storage.stopRequests(incarnations));
  }

  /** Of the last look, where that is fresh; else asked for. */
  async ordersOf(worker: LinkedWorker): Promise<Orders> {
    const isFresh = performance.now() - this.#readAtMs < this.#parts.context.settings.fleetMs * 3;
    if (this.#orders === null || !isFresh) return await worker.storage.orders(worker.id);
    return this.#known(worker.id, this.#orders);
  }

  forget(incarnation: string): void {
    this.#told.delete(incarnation);
  }

  #known(id: string, { paused }: FleetOrders): Orders {
    const own = this.#byWorker.get(id);
    return { adminState: own?.adminState ?? 'active', recycleAsked: own?.recycleAsked ?? false, paused };
  }

  #tellOrders(worker: LinkedWorker, fleet: FleetOrders): void {
    const before = worker.orders;
    const now = this.#known(worker.id, fleet);
    if (isSame(before, now)) return;
    worker.orders = now;
    worker.channel.send({ type: 'orders', ...now, paused: [...now.paused] });
    if (before.adminState !== now.adminState && now.adminState !== 'drain') this.#parts.onReleased(worker);
  }

  #tellStops(stops: readonly HeldLease[]): void {
    const nowMs = performance.now();
    const byIncarnation = new Map<string, HeldLease[]>();
    for (const stop of stops) {
      const incarnation = incarnationOf(stop.token);
      byIncarnation.set(incarnation, [...(byIncarnation.get(incarnation) ?? []), stop]);
    }
    for (const worker of this.#parts.roster) {
      const mine = byIncarnation.get(worker.incarnation) ?? [];
      const before = this.#told.get(worker.incarnation);
      const news = mine.filter(({ id, token }) => nowMs - (before?.get(id + token) ?? -Infinity) >= againMs);
      if (mine.length === 0) this.#told.delete(worker.incarnation);
      else {
        const fresh = new Set(news.map(({ id, token }) => id + token));
        const told = mine.map(({ id, token }): [string, number] => {
          const key = id + token;
          return [key, fresh.has(key) ? nowMs : (before?.get(key) ?? nowMs)];
        });
        this.#told.set(worker.incarnation, new Map(told));
      }
      if (news.length > 0) worker.channel.send({ type: 'stop', leases: news });
    }
  }
}

function isSame(a: Orders, b: Orders): boolean {
  return (
    a.adminState === b.adminState &&
    a.recycleAsked === b.recycleAsked &&
    a.paused.length === b.paused.length &&
    a.paused.every((queue, index) => queue === b.paused[index])
  );
}
