/*
 * Waiting for results: all waiters of a client share one loop of `endings` reads.
 *
 *   waiting ──read: final──▶ told        waiting ──read: unknown id──▶ told (job-not-found)
 *      │ its time is over ──▶ last read ──▶ told (result, or result-timeout with the status seen)
 *      └ its signal fires, or the client closes ──▶ told (aborted, closed)
 *
 * A waiter reads at once when it joins, then after 5 ms, each time half as long again, up to 250 ms; an event of a worker
 * in this process makes it read at once. So a result can't be missed: events are hints, the read decides. Reads that fail
 * in a way that may pass are repeated until the waiter's time is over; others end every waiter of that read.
 */
import type { JobStatus } from '../core/job-status.js';
import { parseDuration } from '../internal/duration.js';
import { isMillraceError } from '../internal/errors.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { JobEnding } from '../storage/job-record.js';
import { decodeWholeOutput } from './codec.js';
import type { MillraceEvents } from './events.js';
import type { ResultOptions } from './job-handle.js';
import { abortedError, cancelledError, failedError, goneError, timeoutError } from './result-errors.js';
import { SharedAborts } from './shared-aborts.js';
import { closedError, type StorageAccess } from './storage-access.js';

const firstPauseMs = 5;
const longestPauseMs = 250;
const growth = 1.5;
/** The seam takes lists of any length; a statement with more than this gains nothing. */
const idsPerRead = 1000;
/** The limit of an attempt that says nothing: who waits longer for an answer should say so. */
const defaultTimeoutMs = 300_000;
/** A read that was on its way when a waiter's time ended may take this much longer. */
const lastReadMs = 2000;
const longestTimerMs = 2 ** 31 - 1;

interface Waiter {
  readonly id: string;
  readonly timeoutMs: number;
  /** By `performance.now()`; Infinity waits as long as it takes. */
  readonly endsAt: number;
  nextReadAt: number;
  pauseMs: number;
  lastStatus: JobStatus | null;
  lastError: unknown;
  readonly tell: (answer: { value: unknown } | { error: unknown }) => void;
}

const endingEvents = ['job:completed', 'job:buried', 'job:cancelled'] as const;

/**
 * How long to wait, in ms.
 *
 * @throws MillraceError `option-invalid`
 */
export function checkResultOptions({ timeout = defaultTimeoutMs }: ResultOptions): number {
  return timeout === Number.POSITIVE_INFINITY
    ? timeout
    : parseDuration(timeout, { name: 'option "timeout"' });
}

export class ResultWaiter {
  readonly #access: StorageAccess;
  readonly #events: TypedEvents<MillraceEvents>;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #aborts = new SharedAborts();
  #unlisten: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  #soon: NodeJS.Immediate | null = null;
  #isReading = false;
  /** Set while a read is on its way, for waiters whose time ends meanwhile. */
  #guard: NodeJS.Timeout | null = null;
  #guardAt = Number.POSITIVE_INFINITY;

  constructor(access: StorageAccess, events: TypedEvents<MillraceEvents>) {
    this.#access = access;
    this.#events = events;
  }

  /** @throws MillraceError as `JobHandle.result` says */
  wait(id: string, options: ResultOptions = {}): Promise<unknown> {
    try {
      const { signal } = options;
      const timeoutMs = checkResultOptions(options);
      if (signal?.aborted === true) return Promise.reject(abortedError(id, signal));
      if (this.#access.isClosed) return Promise.reject(closedError());
      return this.#join(id, timeoutMs, signal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Tells every waiter that the client is closed. */
  close(): void {
    for (const waiter of this.#all()) waiter.tell({ error: closedError() });
  }

  #join(id: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const now = performance.now();
      const onAbort = (): void => waiter.tell({ error: abortedError(id, signal) });
      const waiter: Waiter = {
        id,
        timeoutMs,
        endsAt: now + timeoutMs,
        nextReadAt: now,
        pauseMs: firstPauseMs,
        lastStatus: null,
        lastError: null,
        tell: (answer) => {
          this.#remove(waiter);
          if (signal !== undefined) this.#aborts.remove(signal, onAbort);
          if ('error' in answer) reject(answer.error);
          else resolve(answer.value);
        },
      };
      if (signal !== undefined) this.#aborts.add(signal, onAbort);
      this.#insert(waiter);
      if (this.#isReading) this.#guardUntil(waiter.endsAt);
      else this.#wakeAt(now);
    });
  }

  #insert(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.id);
    if (waiters === undefined) this.#waiters.set(waiter.id, new Set([waiter]));
    else waiters.add(waiter);
    if (this.#unlisten.length > 0) return;
    this.#unlisten = endingEvents.map((event) => this.#events.on(event, ({ id }) => this.#hint(id)));
  }

  #remove(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(waiter.id);
    if (this.#waiters.size > 0) return;
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    this.#clearWake();
  }

  #hint(id: string): void {
    const waiters = this.#waiters.get(id);
    if (waiters === undefined) return;
    for (const waiter of waiters) waiter.nextReadAt = 0;
    this.#wakeAt(0);
  }

  #wakeAt(at: number): void {
    if (this.#isReading || this.#soon !== null || at >= this.#timerAt) return;
    this.#clearWake();
    const inMs = Math.ceil(at - performance.now());
    if (inMs <= 0) {
      this.#soon = setImmediate(this.#read);
      return;
    }
    this.#timerAt = at;
    this.#timer = setTimeout(this.#read, inMs);
  }

  #clearWake(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#soon !== null) clearImmediate(this.#soon);
    this.#timer = null;
    this.#soon = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  /** Ends those whose time, and the grace of the read on its way, is over. */
  #armGuard(): void {
    this.#disarmGuard();
    this.#guardUntil(
      this.#all().reduce((least, waiter) => Math.min(least, waiter.endsAt), Number.POSITIVE_INFINITY),
    );
  }

  #disarmGuard(): void {
    if (this.#guard !== null) clearTimeout(this.#guard);
    this.#guard = null;
    this.#guardAt = Number.POSITIVE_INFINITY;
  }

  /** One that ends later than another changes nothing. */
  #guardUntil(endsAt: number): void {
    if (endsAt >= this.#guardAt) return;
    this.#disarmGuard();
    this.#guardAt = endsAt;
    const inMs = Math.min(Math.max(Math.ceil(endsAt + lastReadMs - performance.now()), 0), longestTimerMs);
    this.#guard = setTimeout(() => {
      const now = performance.now();
      for (const waiter of this.#all()) if (waiter.endsAt + lastReadMs <= now) this.#giveUp(waiter);
      this.#armGuard();
    }, inMs);
  }

  readonly #read = (): void => {
    this.#clearWake();
    const now = performance.now();
    // Those that are nearly due share the statement.
    const due = this.#all().filter(
      (waiter) => waiter.nextReadAt <= now + waiter.pauseMs / 2 || waiter.endsAt <= now,
    );
    this.#isReading = true;
    this.#armGuard();
    // Set before the read: an event that comes during it asks for another one.
    for (const waiter of due) waiter.nextReadAt = now + waiter.pauseMs;
    void this.#readAll(due).finally(() => {
      this.#isReading = false;
      this.#disarmGuard();
      this.#expire(due);
      this.#schedule();
    });
  };

  async #readAll(due: readonly Waiter[]): Promise<void> {
    const byId = new Map<string, Waiter[]>();
    for (const waiter of due) {
      const same = byId.get(waiter.id);
      if (same === undefined) byId.set(waiter.id, [waiter]);
      else same.push(waiter);
    }
    const ids = [...byId.keys()];
    for (let start = 0; start < ids.length; start += idsPerRead) {
      // A local database answers within the tick: the rest of the process gets its turn between reads.
      if (start > 0) await new Promise((resolve) => setImmediate(resolve));
      const part = ids.slice(start, start + idsPerRead);
      const waiters = part.flatMap((id) => byId.get(id) ?? []);
      try {
        const storage = this.#access.current ?? (await this.#access.get());
        this.#take(waiters, await storage.endings(part));
      } catch (error) {
        this.#takeError(waiters, error);
      }
    }
  }

  #take(waiters: readonly Waiter[], endings: readonly JobEnding[]): void {
    const byId = new Map(endings.map((ending) => [ending.id, ending] as const));
    const now = performance.now();
    for (const waiter of waiters) {
      if (!this.#isWaiting(waiter)) continue;
      const ending = byId.get(waiter.id);
      if (ending === undefined) waiter.tell({ error: goneError(waiter.id) });
      else if (!tellEnding(waiter, ending)) {
        waiter.lastStatus = ending.status;
        waiter.lastError = null;
        if (waiter.nextReadAt > 0) waiter.nextReadAt = now + waiter.pauseMs;
        waiter.pauseMs = Math.min(longestPauseMs, waiter.pauseMs * growth);
      }
    }
  }

  #takeError(waiters: readonly Waiter[], error: unknown): void {
    const mayPass = isMillraceError(error) && error.retryable;
    const now = performance.now();
    for (const waiter of waiters) {
      if (!this.#isWaiting(waiter)) continue;
      waiter.lastError = error;
      if (!mayPass) waiter.tell({ error });
      waiter.pauseMs = longestPauseMs;
      waiter.nextReadAt = now + longestPauseMs;
    }
  }

  #isWaiting(waiter: Waiter): boolean {
    return this.#waiters.get(waiter.id)?.has(waiter) === true;
  }

  /** Those whose time was over before the read that has just ended: it was their last. */
  #expire(due: readonly Waiter[]): void {
    const now = performance.now();
    for (const waiter of due) if (waiter.endsAt <= now && this.#isWaiting(waiter)) this.#giveUp(waiter);
  }

  #giveUp(waiter: Waiter): void {
    const { id, timeoutMs, lastStatus, lastError } = waiter;
    waiter.tell({ error: timeoutError({ id, timeoutMs, lastStatus, lastError }) });
  }

  #schedule(): void {
    let at = Number.POSITIVE_INFINITY;
    for (const waiter of this.#all()) at = Math.min(at, waiter.nextReadAt, waiter.endsAt);
    if (at < Number.POSITIVE_INFINITY) this.#wakeAt(at);
  }

  #all(): Waiter[] {
    return [...this.#waiters.values()].flatMap((waiters) => [...waiters]);
  }
}

/** Whether the job is final, and its waiter therefore told. */
function tellEnding(waiter: Waiter, ending: JobEnding): boolean {
  switch (ending.status) {
    case 'completed':
      waiter.tell(resultOf(ending));
      return true;
    case 'buried':
      waiter.tell({ error: failedError(ending) });
      return true;
    case 'cancelled':
      waiter.tell({ error: cancelledError(ending) });
      return true;
    case 'pending':
    case 'blocked':
    case 'processing':
      return false;
  }
}

function resultOf({ id, result }: JobEnding): { value: unknown } | { error: unknown } {
  try {
    return { value: decodeWholeOutput(result, `result of job ${id}`) };
  } catch (error) {
    return { error };
  }
}
