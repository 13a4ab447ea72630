import { withDeadline } from '../../internal/deadline.js';
import { isMillraceError } from '../../internal/errors.js';
import { OutageLog } from '../../internal/outage-log.js';
import type { Storage } from '../../storage/storage.js';
import type { AdminState, WorkerReport } from '../../storage/worker-record.js';
import { monotonicMs } from '../monotonic.js';
import {
  blankStatus,
  type Link,
  type LinkListener,
  type LinkSettings,
  type WorkerIdentity,
  type WorkerStatus,
} from './link.js';

const maxBackoffMs = 15_000;
const firstBackoffMs = 200;

/** See link.ts. Each of its two rounds (heartbeat with renewal, control read) fails and recovers by itself. */
export class LinkControl implements Link {
  readonly #storage: Storage;
  #identity: WorkerIdentity;
  readonly #settings: LinkSettings;
  readonly #listener: LinkListener;
  readonly #stopping = new AbortController();
  #toldState = '';
  #onNews: (() => void) | null = null;
  readonly #random: () => number;
  #status = blankStatus;
  #adminState: AdminState | null = null;
  #rounds: Promise<unknown> = Promise.resolve();

  constructor(
    storage: Storage,
    identity: WorkerIdentity,
    settings: LinkSettings,
    listener: LinkListener,
    random = Math.random,
  ) {
    this.#storage = storage;
    this.#identity = identity;
    this.#settings = settings;
    this.#listener = listener;
    this.#random = random;
  }

  start(): Promise<void> {
    this.#rounds = Promise.all([
      this.#round('heartbeat', this.#settings.heartbeatMs, () => this.#beat(), true),
      this.#round('control read', this.#settings.controlMs, () => this.#read()),
    ]);
    return Promise.resolve();
  }

  /** A changed state is told at once, the rest with the next heartbeat. */
  report(status: WorkerStatus): void {
    this.#status = status;
    if (status.state !== this.#toldState) this.#onNews?.();
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#stopping.abort();
    try {
      await withDeadline(this.#sayGoodbye(), { ms: deadlineMs, name: 'goodbye to storage' });
    } catch (error) {
      this.#listener.onLog('warn', 'could not say goodbye to storage; the registration will lapse', {
        error: String(error),
      });
    }
  }

  /** With its last numbers, which stay to be seen. */
  async #sayGoodbye(): Promise<void> {
    await this.#rounds;
    await this.#storage.heartbeat(this.#report());
    await this.#storage.unregister(this.#identity.id, this.#identity.incarnation);
  }

  /** Beats once, then every `everyMs`; after a failure sooner, with jitter, for ever. */
  async #round(name: string, everyMs: number, beat: () => Promise<void>, beatsEarly = false): Promise<void> {
    const { signal } = this.#stopping;
    const outage = new OutageLog(monotonicMs);
    while (!signal.aborted) {
      const startedAtMs = monotonicMs();
      try {
        await beat();
        const failures = outage.worked();
        if (failures > 0) this.#listener.onLog('info', `${name}: storage answers again`, { failures });
      } catch (error) {
        this.#tellFailure(name, outage, error);
      }
      const { failures } = outage;
      const tookMs = monotonicMs() - startedAtMs;
      const waitMs =
        failures === 0
          ? everyMs - tookMs
          : Math.min(everyMs, maxBackoffMs, firstBackoffMs * 2 ** failures) * this.#random();
      await this.#pause(Math.max(waitMs, 1), beatsEarly && failures === 0);
    }
  }

  #tellFailure(name: string, outage: OutageLog, error: unknown): void {
    const isFinal = isMillraceError(error) && !error.retryable;
    if (!outage.failed(isFinal ? 'final' : 'passing')) return;
    this.#listener.onLog(isFinal ? 'error' : 'warn', `${name} failed, trying again`, {
      failures: outage.failures,
      error: String(error),
    });
  }

  /** Until the time is over, the link stops, or, where wanted, there is a state to tell that was not told. */
  #pause(ms: number, endsWithNews: boolean): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted || (endsWithNews && this.#status.state !== this.#toldState)) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        if (endsWithNews) this.#onNews = null;
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      signal.addEventListener('abort', end);
      if (endsWithNews) this.#onNews = end;
    });
  }

  async #beat(): Promise<void> {
    const { leaseMs } = this.#settings;
    const askedAtMs = monotonicMs();
    // Leases first: they are what others act on. Also before registration: a thread that was started anew takes them over.
    const held = await this.#storage.renew(this.#identity.incarnation, leaseMs);
    const paused = await this.#storage.pausedQueues();
    this.#listener.onSnapshot({ askedAtMs, isRenewal: true, held, paused });
    const report = this.#report();
    this.#toldState = report.state;
    const heard = this.#adminState === null ? null : await this.#storage.heartbeat(report);
    if (heard !== null && heard.outcome === 'ok') this.#noteAdminState(heard.adminState);
    else await this.#register(report);
    const before = Date.now();
    const now = await this.#storage.now();
    this.#listener.onClockSkew(now - (before + Date.now()) / 2);
  }

  async #register(report: WorkerReport): Promise<void> {
    const { outcome, adminState } = await this.#storage.register(report, this.#settings.ttlMs);
    if (outcome === 'taken') {
      this.#takeAnotherId();
      return await this.#register(this.#report());
    }
    this.#noteAdminState(adminState);
    this.#listener.onRegistered(adminState);
  }

  /** It was silent for so long that another worker got its id. Its leases are of its incarnation, and so its own still. */
  #takeAnotherId(): void {
    const { id, incarnation } = this.#identity;
    this.#identity = { ...this.#identity, id: `${id}-${incarnation.slice(0, 8)}` };
    this.#listener.onLog(
      'warn',
      `another living worker is registered under the id ${id}; this one is shown as ${this.#identity.id} from now on`,
      {},
    );
  }

  async #read(): Promise<void> {
    if (this.#adminState === null) return;
    const askedAtMs = monotonicMs();
    const held = await this.#storage.held(this.#identity.incarnation);
    const { adminState, recycleAsked, paused } = await this.#storage.orders(this.#identity.id);
    this.#listener.onSnapshot({ askedAtMs, isRenewal: false, held, paused });
    this.#noteAdminState(adminState);
    if (recycleAsked) this.#listener.onRecycleAsked();
  }

  #noteAdminState(adminState: AdminState): void {
    if (this.#adminState === adminState) return;
    this.#adminState = adminState;
    this.#listener.onAdminState(adminState);
  }

  #report(): WorkerReport {
    return { ...this.#identity, ...this.#status, link: 'storage', hubId: null };
  }
}
