/**
 * The main loop's side of the link thread: the leases that a thread kept which died are renewed by the next one well
 * within their time.
 *
 * A thread takes some 100 ms to come up and to connect. The worker was registered before, over the connection that is open
 * already, and begins meanwhile: no lease needs the thread before its first renewal is due.
 */
import { withDeadline } from '../../internal/deadline.js';
import type { Storage } from '../../storage/storage.js';
import type { Link, LinkListener, WorkerStatus } from './link.js';
import type { LinkDownMessage, LinkThreadData, LinkUpMessage } from './link-messages.js';
import { ThreadKeeper } from './thread-keeper.js';

export class LinkThreadHost implements Link {
  readonly #keeper: ThreadKeeper<LinkDownMessage, LinkUpMessage>;
  readonly #storage: Pick<Storage, 'unregister'>;
  readonly #data: LinkThreadData;
  readonly #listener: LinkListener;
  #status: WorkerStatus | null = null;
  /** Who has to say goodbye. */
  #registeredBy: 'main' | 'thread' = 'main';

  constructor(
    file: string,
    storage: Pick<Storage, 'unregister'>,
    data: LinkThreadData,
    listener: LinkListener,
  ) {
    this.#storage = storage;
    this.#data = data;
    this.#listener = listener;
    this.#keeper = new ThreadKeeper<LinkDownMessage, LinkUpMessage>({
      file,
      data,
      onMessage: (message) => this.#take(message),
      onReady: () => {
        if (this.#status !== null) this.report(this.#status);
      },
      onDeath: () => undefined,
      log: (level, message, fields) => listener.onLog(level, message, fields),
    });
  }

  /** At once: the worker is registered already, and its leases need the thread only when they are to be renewed. */
  start(): Promise<void> {
    this.#keeper.start();
    return Promise.resolve();
  }

  report(status: WorkerStatus): void {
    this.#status = status;
    this.#keeper.post({ type: 'report', status });
  }

  async stop(deadlineMs: number): Promise<void> {
    await this.#keeper.stop({ type: 'stop', deadlineMs }, deadlineMs);
    if (this.#registeredBy === 'main') await this.#sayGoodbye(deadlineMs);
  }

  /** The thread had not come so far as to register, so it had nothing to take back either. */
  async #sayGoodbye(deadlineMs: number): Promise<void> {
    const { id, incarnation } = this.#data.identity;
    try {
      const goodbye = this.#storage.unregister(id, incarnation);
      await withDeadline(goodbye, { ms: deadlineMs, name: 'goodbye to storage' });
    } catch (error) {
      this.#listener.onLog('warn', 'could not say goodbye to storage; the registration will lapse', {
        error: String(error),
      });
    }
  }

  #take(message: Exclude<LinkUpMessage, { type: 'ready' | 'stopped' }>): void {
    switch (message.type) {
      case 'registered':
        this.#keeper.noteWell();
        this.#registeredBy = 'thread';
        this.#listener.onRegistered(message.adminState);
        break;
      case 'snapshot':
        this.#listener.onSnapshot(message.snapshot);
        break;
      case 'clock-skew':
        this.#listener.onClockSkew(message.skewMs);
        break;
      case 'admin-state':
        this.#listener.onAdminState(message.adminState);
        break;
      case 'recycle-asked':
        this.#listener.onRecycleAsked();
        break;
      case 'log':
        this.#listener.onLog(message.level, message.message, message.fields);
        break;
    }
  }
}
