/**
 * The main loop's side of the link thread. A thread that dies is started again, with jitter, for ever: the leases it kept
 * are renewed by the next one well within their time.
 *
 * A thread takes some 100 ms to come up and to connect. The worker was registered before, over the connection that is open
 * already, and begins meanwhile: no lease needs the thread before its first renewal is due.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker as Thread } from 'node:worker_threads';
import { withDeadline } from '../../internal/deadline.js';
import type { Storage } from '../../storage/storage.js';
import type { Link, LinkListener, WorkerStatus } from './link.js';
import type { LinkDownMessage, LinkThreadData, LinkUpMessage } from './link-messages.js';

const restartCapMs = 5_000;
const startDeadlineMs = 30_000;
/** It makes little garbage, and would let it gather to 16 MB all the same. */
const youngGenerationMb = 4;

/** The file of the thread, or null where it is not at hand (a bundled application). Sources run by a test runner use the built file. */
export function linkThreadFile(): string | null {
  // Bundled as CommonJS there is no import.meta.
  const url: string | undefined = import.meta.url;
  if (url === undefined) return null;
  const here = fileURLToPath(url);
  const file = here.endsWith('.ts')
    ? here.replace(/([\\/])src([\\/]worker[\\/]link[\\/]).*$/, '$1dist$2link-thread.js')
    : fileURLToPath(new URL('./link-thread.js', url));
  return existsSync(file) ? file : null;
}

export class LinkThreadHost implements Link {
  readonly #file: string;
  readonly #storage: Storage;
  readonly #data: LinkThreadData;
  readonly #listener: LinkListener;
  #thread: Thread | null = null;
  #status: WorkerStatus | null = null;
  #restarts = 0;
  #restartTimer: NodeJS.Timeout | null = null;
  #isStopping = false;
  /** Who has to say goodbye. */
  #registeredBy: 'main' | 'thread' = 'main';
  #noteStopped: () => void = () => undefined;
  readonly #stopped: Promise<void>;

  constructor(file: string, storage: Storage, data: LinkThreadData, listener: LinkListener) {
    this.#file = file;
    this.#storage = storage;
    this.#data = data;
    this.#listener = listener;
    this.#stopped = new Promise((resolve) => {
      this.#noteStopped = resolve;
    });
  }

  /** At once: the worker is registered already, and its leases need the thread only when they are to be renewed. */
  start(): Promise<void> {
    withDeadline(this.#spawn(), { ms: startDeadlineMs, name: 'start of the link thread' }).catch(
      (error: unknown) =>
        this.#listener.onLog('error', 'the link thread could not be started', { error: String(error) }),
    );
    return Promise.resolve();
  }

  report(status: WorkerStatus): void {
    this.#status = status;
    this.#post({ type: 'report', status });
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    await this.#endThread(deadlineMs);
    if (this.#registeredBy === 'main') await this.#sayGoodbye(deadlineMs);
  }

  async #endThread(deadlineMs: number): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    this.#post({ type: 'stop', deadlineMs });
    try {
      await withDeadline(this.#stopped, { ms: deadlineMs + 1_000, name: 'end of the link thread' });
    } catch (error) {
      this.#listener.onLog('warn', 'the link thread did not end by itself and is ended', {
        error: String(error),
      });
    }
    await thread.terminate();
    this.#thread = null;
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

  #spawn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const thread = new Thread(this.#file, {
        workerData: this.#data,
        name: 'millrace-link',
        resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb },
      } as ConstructorParameters<typeof Thread>[1]);
      this.#thread = thread;
      thread.on('message', (message: LinkUpMessage) => {
        if (message.type === 'ready') {
          if (this.#status !== null) this.report(this.#status);
          resolve();
        } else this.#take(message);
      });
      thread.on('error', (error) => {
        this.#listener.onLog('error', 'the link thread failed', { error: String(error) });
        reject(error);
      });
      thread.on('exit', (code) => {
        reject(new Error(`the link thread ended with code ${code}`));
        if (this.#thread === thread) this.#thread = null;
        if (this.#isStopping) this.#noteStopped();
        else this.#restart(code);
      });
    });
  }

  #restart(code: number): void {
    this.#restarts += 1;
    const waitMs = Math.min(restartCapMs, 50 * 2 ** this.#restarts) * Math.random();
    this.#listener.onLog('error', 'the link thread ended and is started again', {
      code,
      restarts: this.#restarts,
      waitMs: Math.round(waitMs),
    });
    this.#restartTimer = setTimeout(() => {
      this.#spawn().catch((error: unknown) =>
        this.#listener.onLog('error', 'the link thread could not be started', { error: String(error) }),
      );
    }, waitMs);
  }

  #take(message: Exclude<LinkUpMessage, { type: 'ready' }>): void {
    switch (message.type) {
      case 'registered':
        this.#restarts = 0;
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
      case 'stopped':
        this.#noteStopped();
        break;
    }
  }

  #post(message: LinkDownMessage): void {
    this.#thread?.postMessage(message);
  }
}
