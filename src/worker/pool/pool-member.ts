/**
 * A worker process's side of its pool: it tells the supervisor what it found in the config and how it does, and is told when
 * the pool shrinks. Without a supervisor there is none.
 */
import type { Millrace } from '../../client/millrace.js';
import type { Worker } from '../worker.js';
import {
  type PoolBacklog,
  type PoolDownMessage,
  type PoolPlace,
  type PoolSetup,
  type PoolUpMessage,
  poolEnv,
} from './pool-messages.js';

const statusEveryMs = 1_000;

/** The place in a pool of this process; null where it is in none. */
export function poolPlace(env: Readonly<Record<string, string | undefined>>): PoolPlace | null {
  const text = env[poolEnv];
  return text === undefined || process.send === undefined ? null : (JSON.parse(text) as PoolPlace);
}

export class PoolMember implements Disposable {
  #timer: NodeJS.Timeout | null = null;
  #unfollow: () => void = () => undefined;
  #onDrain: ((reason: string) => void) | null = null;
  #worker: Worker | null = null;

  /** The first message: what the pool is to be. */
  tellSetup(setup: PoolSetup): void {
    this.#send({ type: 'setup', setup });
    process.on('message', this.#take);
    // It must not keep a process alive that is done.
    process.channel?.unref();
  }

  /** Tells of this worker until it is disposed of: each second, and at once when its state has changed. */
  follow(worker: Worker, events: Pick<Millrace, 'on'>, onDrain: (reason: string) => void): void {
    this.#onDrain = onDrain;
    this.#worker = worker;
    const tell = (): void => {
      const { id: workerId, lifecycle: state, running, lanes, counts } = worker;
      const rssBytes = process.memoryUsage.rss();
      const status = { workerId, state, running, lanes, jobsDone: counts.ended, rssBytes };
      this.#send({ type: 'status', status });
    };
    this.#timer = setInterval(tell, statusEveryMs);
    this.#unfollow = events.on('worker:state', tell);
    tell();
  }

  tellEnded(counts: Readonly<Record<string, number>>): void {
    this.#send({ type: 'ended', counts });
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#unfollow();
    process.off('message', this.#take);
  }

  readonly #take = (message: unknown): void => {
    const told = message as PoolDownMessage;
    if (told.type === 'drain') this.#onDrain?.(told.reason);
    else if (told.type === 'ask-backlog') void this.#tellBacklog(told.ask);
  };

  async #tellBacklog(ask: number): Promise<void> {
    let backlog: PoolBacklog | null = null;
    try {
      backlog = (await this.#worker?.backlog()) ?? null;
    } catch {
      // Then it is not known; the supervisor keeps what it has and asks again.
    }
    this.#send({ type: 'backlog', ask, backlog });
  }

  /** To a supervisor that is gone nothing is told; the watchdog sees to that. */
  #send(message: PoolUpMessage): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  }
}
