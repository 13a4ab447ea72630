/*
 * A long-running thing.
 *
 *   stopped ──start()──▶ starting ──▶ running ──stop()──▶ stopping ──▶ stopped
 *                            └──────── failed or given up ──────────────▲
 *
 * Calls are worked off one after the other, in the order they were made: a stop during a start
 * first tells the start to give up (its signal), then waits for it; a start after a stop waits for
 * the stop and starts again. A start while running and a stop while stopped do nothing. Equal
 * calls in a row share one promise. When doStart fails, doStop is called to release what it had
 * already taken, and the error goes to the caller of start; the service can be started again.
 */

export type ServiceState = 'stopped' | 'starting' | 'running' | 'stopping';

export interface StopOptions {
  /** How long work in progress may go on, in ms, before it is interrupted. @default 25 000 */
  readonly deadlineMs?: number | undefined;
}

/** Ours and that of the container runtimes that allow 30 s between TERM and KILL. */
export const defaultStopDeadlineMs = 25_000;

export abstract class Service implements AsyncDisposable {
  /** In words for logs and errors: `lease keeper`. */
  readonly serviceName: string;
  #state: ServiceState = 'stopped';
  #tail: Promise<void> = Promise.resolve();
  #last: { kind: 'start' | 'stop'; done: Promise<void> } | undefined;
  #startAbort = new AbortController();
  #lastProgressAt = performance.now();

  constructor(serviceName: string) {
    this.serviceName = serviceName;
  }

  get state(): ServiceState {
    return this.#state;
  }

  /** When the service last got something done, in ms of the monotonic clock (`performance.now()`). */
  get lastProgressAt(): number {
    return this.#lastProgressAt;
  }

  /**
   * Resolves once the service runs.
   *
   * @throws what doStart threw; the service is stopped then
   */
  start(): Promise<void> {
    if (this.#last?.kind === 'start') return this.#last.done;
    const abort = new AbortController();
    this.#startAbort = abort;
    return this.#enqueue('start', async () => {
      if (this.#state === 'running') return;
      this.#state = 'starting';
      try {
        await this.doStart(abort.signal);
      } catch (error) {
        await this.#release();
        throw error;
      }
      this.#state = 'running';
      this.markProgress();
    });
  }

  /**
   * Resolves once the service has stopped. A second call while it stops joins the first; one with
   * a nearer deadline hastens it.
   */
  stop(options: StopOptions = {}): Promise<void> {
    const deadlineMs = options.deadlineMs ?? defaultStopDeadlineMs;
    if (this.#last?.kind === 'stop') {
      if (this.#state === 'stopping') this.hastenStop({ deadlineMs });
      return this.#last.done;
    }
    this.#startAbort.abort();
    return this.#enqueue('stop', async () => {
      if (this.#state === 'stopped') return;
      this.#state = 'stopping';
      try {
        await this.doStop({ deadlineMs });
      } finally {
        this.#state = 'stopped';
      }
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Takes what the service needs; `signal` fires when a stop is wanted before it is done. */
  protected abstract doStart(signal: AbortSignal): Promise<void>;

  /** Gives everything back. Also called after a doStart that failed half-way. */
  protected abstract doStop(options: { readonly deadlineMs: number }): Promise<void>;

  /** Called for a further stop while doStop runs. @default nothing */
  protected hastenStop(_options: { readonly deadlineMs: number }): void {
    // Only services with work in progress have something to hasten.
  }

  /** Notes that something got done just now. */
  protected markProgress(): void {
    this.#lastProgressAt = performance.now();
  }

  async #release(): Promise<void> {
    try {
      await this.doStop({ deadlineMs: 0 });
    } catch {
      // The error of the start is the one that explains; the caller gets that.
    } finally {
      this.#state = 'stopped';
    }
  }

  #enqueue(kind: 'start' | 'stop', run: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(run);
    const entry = { kind, done };
    this.#last = entry;
    this.#tail = done.then(
      () => this.#settled(entry, false),
      () => this.#settled(entry, true),
    );
    return done;
  }

  /** A start that failed is forgotten, so that the next one tries again. */
  #settled(entry: { kind: 'start' | 'stop' }, hasFailed: boolean): void {
    if (hasFailed && this.#last === entry) this.#last = undefined;
  }
}
