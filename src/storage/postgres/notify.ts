/*
 * Wake-ups: hints that jobs may have become claimable. Watchers of this process are told at once; those of others by
 * NOTIFY, sent after the commit from a connection of its own (inside the write it serializes all commits), at most one
 * per 2 ms with all queues that came together. The same connection listens while anybody watches. It notifies itself
 * now and then; when that does not come back, the connection is replaced. Nothing depends on any of it: whoever waits
 * also polls.
 *
 *   idle ──wake or watch──▶ opening ──▶ open ──lost, or probe missing──▶ waiting (jitter) ──▶ opening …
 */
import type { Logger } from '../../internal/logger.js';
import { OutageLog } from '../../internal/outage-log.js';
import { anyQueue } from './context.js';
import { NotifySession } from './notify-session.js';

const sendEveryMs = 2;
const probeEveryMs = 15_000;
const firstPauseMs = 250;
const longestPauseMs = 30_000;

export interface NotifierOptions {
  readonly url: string;
  readonly channel: string;
  readonly logger: Logger;
  readonly mayListen: () => boolean;
  /** @default 15 000 */
  readonly probeEveryMs?: number;
  /** How long the server may take to answer, and a probe to come back. @default 5 000 */
  readonly answerMs?: number;
}

type Watcher = (queues: readonly string[] | null) => void;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #watchers = new Set<Watcher>();
  readonly #toSend = new Set<string>();
  #session: NotifySession | null = null;
  #opening: Promise<void> | null = null;
  #isSending = false;
  readonly #outage = new OutageLog();
  #retryAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  wake(queues: Iterable<string>): void {
    const list = [...queues];
    if (list.length === 0 || this.#isClosed) return;
    this.#tell(list.includes(anyQueue) ? null : list);
    for (const queue of list) this.#toSend.add(queue);
    if (!this.#isSending) void this.#send();
  }

  /** Resolves once it listens, or has tried to: without the server, watching begins when the server is back. */
  async watch(onWake: Watcher): Promise<AsyncDisposable> {
    const watcher: Watcher = (queues) => onWake(queues);
    this.#watchers.add(watcher);
    await this.#keepListening();
    return {
      [Symbol.asyncDispose]: () => {
        this.#watchers.delete(watcher);
        return Promise.resolve();
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watchers.clear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    const session = this.#session;
    this.#session = null;
    await session?.end();
    await this.#opening;
  }

  #tell(queues: readonly string[] | null): void {
    for (const watcher of [...this.#watchers]) queueMicrotask(() => watcher(queues));
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    try {
      while (this.#toSend.size > 0 && !this.#isClosed) {
        const startedAt = performance.now();
        if (this.#session === null) await this.#open();
        const session = this.#session as NotifySession | null;
        const queues = [...this.#toSend];
        this.#toSend.clear();
        // Without a connection the hint is dropped; whoever waits also polls.
        await session?.notify(queues);
        const restMs = sendEveryMs - (performance.now() - startedAt);
        if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
      }
    } catch (error) {
      this.#lose(error);
    } finally {
      this.#isSending = false;
    }
  }

  async #open(): Promise<void> {
    if (performance.now() < this.#retryAt) return;
    this.#opening ??= this.#openNow().finally(() => {
      this.#opening = null;
    });
    await this.#opening;
  }

  async #openNow(): Promise<void> {
    try {
      const session: NotifySession = await NotifySession.open(this.#options, {
        onWake: (queues) => this.#tell(queues),
        onLost: () => {
          if (this.#session === session) this.#lose('the connection ended');
        },
      });
      if (this.#isClosed) await session.end();
      else this.#session = session;
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Opens, listens and probes while anybody watches; calls itself again by timer. */
  async #keepListening(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isClosed || this.#watchers.size === 0 || !this.#options.mayListen()) return;
    const wasLost = this.#session === null && this.#outage.failures > 0;
    try {
      if (this.#session === null) await this.#open();
      const session = this.#session as NotifySession | null;
      if (session !== null) {
        await session.listen();
        const failures = this.#outage.worked();
        if (failures > 0) this.#options.logger.info('postgres: wake-ups arrive again', { failures });
        // What was sent meanwhile was missed.
        if (wasLost) this.#tell(null);
      }
    } catch (error) {
      this.#lose(error);
    }
    this.#schedule(this.#session === null ? this.#pauseMs() : (this.#options.probeEveryMs ?? probeEveryMs));
  }

  #schedule(ms: number): void {
    if (this.#isClosed || this.#watchers.size === 0) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#keepListening(), ms * (0.8 + 0.4 * Math.random()));
    this.#timer.unref();
  }

  #pauseMs(): number {
    return Math.max(this.#retryAt - performance.now(), firstPauseMs);
  }

  #lose(why: unknown): void {
    const session = this.#session;
    this.#session = null;
    session?.drop();
    if (this.#isClosed) return;
    const isToTell = this.#outage.failed();
    const pauseMs =
      Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#outage.failures, 10)) *
      (0.5 + Math.random() / 2);
    this.#retryAt = performance.now() + pauseMs;
    if (isToTell) {
      this.#options.logger.warn('postgres: wake-ups interrupted, jobs are found by polling meanwhile', {
        why,
        againInMs: Math.round(pauseMs),
      });
    }
    this.#schedule(pauseMs);
  }
}
