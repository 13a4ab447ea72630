/*
 * Progress of a job as it is made: lines are read by their place in the job's log, so none is missed or told twice, also
 * across attempts. Each round reads first whether the job has ended and then its lines: what was written before the end
 * is told before the watch ends. Events of this process only make a round come sooner.
 */
import { isFinal, type JobStatus } from '../core/job-status.js';
import { withDeadline } from '../internal/deadline.js';
import { isMillraceError } from '../internal/errors.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { LogLine } from '../storage/job-log.js';
import type { Storage } from '../storage/storage.js';
import type { MillraceEvents } from './events.js';
import type { ResultOptions } from './job-handle.js';
import { abortedError, goneError, timeoutError } from './result-errors.js';
import { checkResultOptions } from './result-waiter.js';
import { closedError, type StorageAccess } from './storage-access.js';

/** How far a job is, as its handler said by `progress(done, total, note)`. */
export interface JobProgress {
  readonly done: number;
  /** Undefined where the handler does not know it. */
  readonly total: number | undefined;
  readonly note: string | undefined;
  /** Time of the database. */
  readonly at: Date;
}

const firstPauseMs = 25;
/** Handlers' lines are stored four times a second, progress once: reading more often shows nothing new. */
const longestPauseMs = 500;
const growth = 1.5;
const pageSize = 1000;
/** A read that was on its way when the time ended may take this much longer. */
const lastReadMs = 2000;
const noHurry = (): void => undefined;
const endingEvents = ['job:completed', 'job:buried', 'job:cancelled'] as const;

/** @throws MillraceError `job-not-found`, `result-timeout`, `aborted`, `closed`, `option-invalid` */
export async function* watchProgress(
  ports: { readonly access: StorageAccess; readonly events: TypedEvents<MillraceEvents> },
  id: string,
  options: ResultOptions = {},
): AsyncGenerator<JobProgress, void, undefined> {
  const { signal } = options;
  const timeoutMs = checkResultOptions(options);
  const watch = new ProgressWatch(ports.access, id, { timeoutMs, signal });
  const unlisten = endingEvents.map((event) =>
    ports.events.on(event, (facts) => {
      if (facts.id === id) watch.hurry();
    }),
  );
  try {
    for (;;) {
      const { progress, hasEnded } = await watch.round();
      yield* progress;
      if (hasEnded) return;
      await watch.rest(progress.length > 0);
    }
  } finally {
    for (const stop of unlisten) stop();
  }
}

interface Round {
  readonly progress: readonly JobProgress[];
  readonly hasEnded: boolean;
}

class ProgressWatch {
  readonly #access: StorageAccess;
  readonly #id: string;
  readonly #timeoutMs: number;
  readonly #endsAt: number;
  readonly #signal: AbortSignal | undefined;
  #after: string | undefined;
  #pauseMs = firstPauseMs;
  #lastStatus: JobStatus | null = null;
  #lastError: unknown = null;
  /** Ends the rest that is taken now. */
  hurry: () => void = noHurry;

  constructor(
    access: StorageAccess,
    id: string,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
  ) {
    this.#access = access;
    this.#id = id;
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    this.#signal = signal;
  }

  /** A failed read that may be cured by waiting is an empty round. */
  async round(): Promise<Round> {
    this.#throwIfOver();
    try {
      const ms = this.#endsAt - performance.now() + lastReadMs;
      const name = `progress of job ${this.#id}`;
      return await withDeadline(this.#read(), { ms, name, signal: this.#signal });
    } catch (error) {
      this.#throwIfOver();
      if (!isMillraceError(error) || (!error.retryable && error.code !== 'deadline-exceeded')) throw error;
      this.#lastError = error;
      this.#pauseMs = longestPauseMs;
      return { progress: [], hasEnded: false };
    }
  }

  /** Until the next round is due; ends at once when the job has ended in this process, or the signal fires. */
  async rest(hadNews: boolean): Promise<void> {
    const leftMs = this.#endsAt - performance.now();
    if (leftMs <= 0) throw this.#timeoutError();
    this.#pauseMs = hadNews ? firstPauseMs : Math.min(longestPauseMs, this.#pauseMs * growth);
    await this.#sleep(Math.min(this.#pauseMs, leftMs));
  }

  /** Whatever ends it early is told by the next round. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#signal?.removeEventListener('abort', done);
        this.hurry = noHurry;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#signal?.addEventListener('abort', done, { once: true });
      this.hurry = done;
    });
  }

  async #read(): Promise<Round> {
    const storage = this.#access.current ?? (await this.#access.get());
    const [ending] = await storage.endings([this.#id]);
    if (ending === undefined) throw goneError(this.#id);
    this.#lastStatus = ending.status;
    const progress = (await this.#newLines(storage)).flatMap(progressOf);
    this.#lastError = null;
    return { progress, hasEnded: isFinal(ending.status) };
  }

  async #newLines(storage: Storage): Promise<LogLine[]> {
    const lines: LogLine[] = [];
    for (;;) {
      const page = await storage.log(this.#id, {
        limit: pageSize,
        ...(this.#after === undefined ? {} : { after: this.#after }),
      });
      lines.push(...page);
      this.#after = page.at(-1)?.cursor ?? this.#after;
      if (page.length < pageSize) return lines;
    }
  }

  #throwIfOver(): void {
    if (this.#signal?.aborted === true) throw abortedError(this.#id, this.#signal);
    if (this.#access.isClosed) throw closedError();
    if (performance.now() > this.#endsAt + lastReadMs) throw this.#timeoutError();
  }

  #timeoutError(): Error {
    const { lastStatus, lastError } = { lastStatus: this.#lastStatus, lastError: this.#lastError };
    return timeoutError({ id: this.#id, timeoutMs: this.#timeoutMs, lastStatus, lastError });
  }
}

/** What a line of progress says; nothing for other lines, and for those that are damaged. */
export function progressOf({ kind, text, atMs }: LogLine): JobProgress[] {
  if (kind !== 'progress') return [];
  try {
    const { done, total, note } = JSON.parse(text) as Record<string, unknown>;
    if (typeof done !== 'number') return [];
    return [
      {
        done,
        total: typeof total === 'number' ? total : undefined,
        note: typeof note === 'string' ? note : undefined,
        at: new Date(atMs),
      },
    ];
  } catch {
    // Cut because it was too long, or written by another version: best effort, as all of the log is.
    return [];
  }
}
