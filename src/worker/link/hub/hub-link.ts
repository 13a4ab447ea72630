/**
 * The link of a worker behind a hub, in place of registration, heartbeat and control read by storage: joins, tells what
 * the worker does, and passes upward what the hub says. Until it is attached to a life it only joins, and that for ever.
 */
import { aborted } from '../../../internal/aborted.js';
import type { Logger } from '../../../internal/logger.js';
import type { ClaimedJob, HeldLease, Lease } from '../../../storage/claimed-job.js';
import type { AdminState } from '../../../storage/worker-record.js';
import type { StandingRoom, StandingRoomListener } from '../../../storage/worker-storage.js';
import type { Link, LinkListener, LinkSnapshot, WorkerStatus } from '../link.js';
import { HubClient, type HubClientListener } from './hub-client.js';
import type { HubLoss, HubOpening, HubOrders } from './hub-link-messages.js';
import type { HubPort } from './hub-port.js';
import { HubStorage } from './hub-storage.js';

/** Upward, beside what every link tells. */
export interface HubLinkListener extends LinkListener {
  onLinkLost(text: string, waitMs: number): void;
  onLinkRestored(): void;
  onPaused(paused: readonly string[]): void;
  /** Operators want these running jobs ended. */
  onStopAsked(leases: readonly HeldLease[]): void;
  /** Another process took the place of this incarnation. */
  onSuperseded(): void;
  /** All that is held now. */
  held(): readonly Lease[];
}

export interface HubMembership {
  readonly id: string;
  readonly adminState: AdminState;
}

export interface HubLinkOptions {
  readonly port: HubPort;
  readonly workerId: string;
  readonly logger: Logger;
}

export class HubLink implements Link, StandingRoom {
  readonly storage: HubStorage;
  readonly client: HubClient;
  readonly #logger: Logger;
  #workerId: string;
  #listener: HubLinkListener | null = null;
  #standing: StandingRoomListener | null = null;
  #opening: HubOpening | null = null;
  #loss: HubLoss | null = null;
  #leaseMs = Number.POSITIVE_INFINITY;
  #onJoined: (() => void) | null = null;

  constructor({ port, workerId, logger }: HubLinkOptions) {
    this.#workerId = workerId;
    this.#logger = logger;
    this.client = new HubClient(port);
    this.storage = new HubStorage(this.client, this);
  }

  /** The shortest that any hub has named: by it a lease is judged that may be over. */
  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** Tries for ever; rejects with the reason of the signal. Then nothing of it is left. */
  async join(status: WorkerStatus, signal: AbortSignal): Promise<HubMembership> {
    using given = aborted(signal);
    const joined = new Promise<void>((resolve) => {
      this.#onJoined = resolve;
    });
    this.client.start(this.#ears());
    this.client.report(status);
    await Promise.race([joined, given.fired]);
    const opening = this.#opening;
    if (signal.aborted || opening === null) {
      await this.client.stop(0);
      signal.throwIfAborted();
    }
    return { id: this.#workerId, adminState: opening?.adminState ?? 'active' };
  }

  /** From now on a life is told. */
  attach(listener: HubLinkListener): this {
    this.#listener = listener;
    return this;
  }

  /** It has begun by joining; tells the life what it has missed. */
  start(): Promise<void> {
    if (this.#loss !== null) this.#listener?.onLinkLost(this.#loss.text, this.#loss.waitMs);
    return Promise.resolve();
  }

  listen(listener: StandingRoomListener): void {
    this.#standing = listener;
    if (this.client.isOpen) listener.onOpen();
  }

  report(status: WorkerStatus): void {
    this.client.report(status);
  }

  async stop(deadlineMs: number): Promise<void> {
    await this.client.stop(deadlineMs);
  }

  #ears(): HubClientListener {
    return {
      onOpen: (opening) => this.#opened(opening),
      onLost: (loss) => this.#lost(loss),
      onSuperseded: () => this.#superseded(),
      onAssigned: (jobs, askedAtMs) => this.#assigned(jobs, askedAtMs),
      onSnapshot: (snapshot) => this.#listener?.onSnapshot(snapshot),
      onOrders: (orders) => this.#obey(orders),
      onStopAsked: (leases) => this.#listener?.onStopAsked(leases),
      onLone: () => this.#standing?.onAloneDue(),
      onClockSkew: (skewMs) => this.#listener?.onClockSkew(skewMs),
      onLog: (level, message, fields) => this.#logger[level](message, { ...fields }),
      held: () => this.#listener?.held() ?? [],
    };
  }

  #opened(opening: HubOpening): void {
    const { workerId, held, paused, askedAtMs, url } = opening;
    if (workerId !== this.#workerId) {
      this.#logger.warn(
        `another living worker is registered under the id ${this.#workerId}; this one goes on as ${workerId}`,
      );
      this.#workerId = workerId;
    }
    this.#opening = opening;
    this.#loss = null;
    this.#leaseMs = Math.min(this.#leaseMs, opening.leaseMs);
    this.#logger.info('link: connected', { worker: workerId, hub: url });
    const snapshot: LinkSnapshot = { askedAtMs, isRenewal: false, held, paused };
    this.#listener?.onSnapshot(snapshot);
    this.#listener?.onRegistered(opening.adminState);
    this.#obey(opening);
    this.#standing?.onOpen();
    this.#listener?.onLinkRestored();
    this.#onJoined?.();
  }

  #lost(loss: HubLoss): void {
    this.#loss = loss;
    this.#standing?.onLost();
    const { text, waitMs, fix } = loss;
    if (this.#opening === null) {
      const again = `trying again in ${(waitMs / 1_000).toFixed(1)} s`;
      this.#logger[fix === null ? 'warn' : 'error'](
        `link: not registered (${text}), ${again}${fix === null ? '' : `. ${fix}`}`,
        { worker: this.#workerId },
      );
      return;
    }
    if (fix !== null) this.#logger.error(`link: ${text}. ${fix}`, { worker: this.#workerId });
    this.#listener?.onLinkLost(text, waitMs);
  }

  #superseded(): void {
    this.#standing?.onLost();
    this.#logger.error(
      'link: another process took the place of this worker, as the same incarnation (a copy of a running machine?)',
      { worker: this.#workerId },
    );
    this.#listener?.onSuperseded();
  }

  #assigned(jobs: readonly ClaimedJob[], askedAtMs: number): void {
    if (this.#standing !== null) this.#standing.onAssigned(jobs, askedAtMs);
    else this.#logger.warn('jobs came before there was room for them', { jobs: jobs.length });
  }

  #obey({ adminState, recycleAsked, paused }: HubOrders): void {
    const listener = this.#listener;
    listener?.onAdminState(adminState);
    listener?.onPaused(paused);
    if (recycleAsked) listener?.onRecycleAsked();
  }
}
