/**
 * Time of a simulated world. Everything that waits in this process (timers, immediates, promised delays, clocks, random
 * numbers) is replaced while a world runs: its clock stands still while code runs and jumps to the next event when all of
 * it has come to rest. Of events at the same moment the seed draws the first, so every order of simultaneous things is
 * met, and the same seed always meets the same one.
 *
 * Code belongs to the node (a process) in whose context it was started, and so do the timers it sets: a node that is frozen
 * keeps its events until it goes on, one that is dead loses them. Each node has a wall clock of its own, which may step.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Random } from '../model/random.js';

export interface SimNode {
  readonly name: string;
  isDead: boolean;
  isFrozen: boolean;
  /** Ms that its wall clock is ahead of the world's. */
  clockOffsetMs: number;
}

interface SimEvent {
  readonly node: SimNode;
  atMs: number;
  readonly everyMs: number | null;
  readonly run: () => void;
}

class SimTimer {
  readonly event: SimEvent;
  readonly #time: SimTime;
  constructor(time: SimTime, event: SimEvent) {
    this.#time = time;
    this.event = event;
  }
  ref = (): this => this;
  unref = (): this => this;
  hasRef = (): boolean => true;
  refresh = (): this => this;
  close = (): this => this;
  [Symbol.dispose](): void {
    this.#time.cancel(this.event);
  }
}

const require = createRequire(import.meta.url);
const realSetImmediate = globalThis.setImmediate;
const RealDate = globalThis.Date;

export class SimTime {
  /** Ms since the world began. */
  nowMs = 0;
  readonly #startMs: number;
  readonly #random: Random;
  readonly #context = new AsyncLocalStorage<SimNode>();
  readonly #events = new Set<SimEvent>();
  readonly #outside: SimNode;
  #undo: (() => void)[] = [];

  constructor(startMs: number, random: Random) {
    this.#startMs = startMs;
    this.#random = random;
    this.#outside = { name: 'outside', isDead: false, isFrozen: false, clockOffsetMs: 0 };
  }

  get node(): SimNode {
    return this.#context.getStore() ?? this.#outside;
  }

  /** Runs code as that of a node. */
  as<T>(node: SimNode, run: () => T): T {
    return this.#context.run(node, run);
  }

  at(delayMs: number, run: () => void, everyMs: number | null = null): SimEvent {
    const { node } = this;
    const delay = Number.isFinite(delayMs) && delayMs > 0 ? delayMs : 0;
    const event = { node, atMs: this.nowMs + delay, everyMs, run };
    this.#events.add(event);
    return event;
  }

  cancel(event: SimEvent): void {
    this.#events.delete(event);
  }

  /** A pause of the node that asks. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(ms, resolve);
    });
  }

  kill(node: SimNode): void {
    node.isDead = true;
    for (const event of this.#events) if (event.node === node) this.#events.delete(event);
  }

  /** Lets the world run until it is done, or so much of its time has passed. */
  async run(isDone: () => boolean, untilMs: number): Promise<void> {
    for (;;) {
      await settled();
      if (isDone()) return;
      const next = this.#next();
      if (next === null || next.atMs > untilMs) return;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      if (next.everyMs === null) this.#events.delete(next);
      else next.atMs = this.nowMs + Math.max(next.everyMs, 1);
      this.#context.run(next.node, next.run);
    }
  }

  /** Of those that are due first, any. */
  #next(): SimEvent | null {
    let first: SimEvent[] = [];
    let atMs = Number.POSITIVE_INFINITY;
    for (const event of this.#events) {
      if (event.node.isFrozen) continue;
      const due = Math.max(event.atMs, this.nowMs);
      if (due > atMs) continue;
      if (due < atMs) first = [];
      atMs = due;
      first.push(event);
    }
    return first.length === 0 ? null : (first[this.#random.int(first.length)] as SimEvent);
  }

  #wallMs(): number {
    return this.#startMs + this.nowMs + this.node.clockOffsetMs;
  }

  install(): void {
    const time = this;
    const timer = (event: SimEvent): SimTimer => new SimTimer(time, event);
    const clear = (given: unknown): void => {
      if (given instanceof SimTimer) time.cancel(given.event);
    };
    class SimDate extends RealDate {
      constructor(...args: unknown[]) {
        if (args.length === 0) super(Math.floor(time.#wallMs()));
        else super(...(args as [number]));
      }
      static override now(): number {
        return Math.floor(time.#wallMs());
      }
      static override [Symbol.hasInstance](value: unknown): boolean {
        return (
          typeof value === 'object' &&
          value !== null &&
          RealDate.prototype.isPrototypeOf.call(RealDate.prototype, value)
        );
      }
    }
    const set = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): SimTimer =>
      timer(time.at(ms, () => run(...args)));
    const later = (run: (...args: unknown[]) => void, ...args: unknown[]): SimTimer => set(run, 0, ...args);
    const every = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): SimTimer =>
      timer(time.at(ms, () => run(...args), Math.max(ms, 1)));
    const delay = <T>(ms?: number, value?: T, options?: { signal?: AbortSignal }): Promise<T> => {
      const signal = options?.signal;
      return new Promise((resolve, reject) => {
        const abort = (): void => {
          time.cancel(event);
          reject(
            Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' }),
          );
        };
        const event = time.at(ms ?? 0, () => {
          signal?.removeEventListener('abort', abort);
          resolve(value as T);
        });
        if (signal?.aborted === true) abort();
        else signal?.addEventListener('abort', abort, { once: true });
      });
    };
    this.#replace(globalThis, {
      setTimeout: set,
      setInterval: every,
      setImmediate: later,
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
      Date: SimDate,
    });
    this.#replace(performance, { now: () => time.nowMs });
    this.#replace(Math, { random: () => time.#random.next() });
    this.#replace(process.hrtime, { bigint: () => BigInt(Math.round(time.nowMs * 1e6)) });
    this.#replace(AbortSignal, {
      timeout: (ms: number) => {
        const controller = new AbortController();
        time.at(ms, () => controller.abort(new DOMException('timed out', 'TimeoutError')));
        return controller.signal;
      },
    });
    this.#replace(require('node:timers/promises') as object, {
      setTimeout: delay,
      setImmediate: (value: unknown) => delay(0, value),
    });
    // Ids are made of bytes that were drawn ahead, maybe in the world before: they must not move what the seed draws.
    const bytes = new Random(time.#startMs);
    const fill = (buffer: Uint8Array): Uint8Array => {
      for (let index = 0; index < buffer.length; index += 1) buffer[index] = bytes.int(256);
      return buffer;
    };
    this.#replace(require('node:crypto') as object, {
      randomFillSync: fill,
      randomBytes: (size: number) => fill(Buffer.alloc(size)),
    });
    syncBuiltinESMExports();
  }

  uninstall(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    this.#events.clear();
    syncBuiltinESMExports();
  }

  #replace(target: object, values: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(values)) {
      const before = Object.getOwnPropertyDescriptor(target, key);
      Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: true });
      this.#undo.push(() => {
        if (before === undefined) Reflect.deleteProperty(target, key);
        else Object.defineProperty(target, key, before);
      });
    }
  }
}

/** Every promise that can go on has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => void realSetImmediate(resolve));
