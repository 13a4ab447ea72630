/**
 * A worker on a storage link: takes jobs from the database, runs them in inline slots, settles them.
 *
 * STOPPED → REGISTER (until storage knows this incarnation) → RUNNING ⇄ RECONNECTING (storage does not answer; jobs run
 * on, results wait in the outbox, for ever) → DRAINING (nothing new; what runs may end) → STOPPED
 *
 * Promises: a claimed job is settled, put back, or its lease lapses; a result is sent until storage has answered for it;
 * `stop` ends in its time whatever the database does. It does not promise that a handler runs once: see the lease rules.
 *
 * The main loop owns claims, handlers and results; registration, renewals and the control read are the link's (link.ts).
 */
import { randomBytes } from 'node:crypto';
import { laneChild } from '../client/lane-child.js';
import { aborted } from '../internal/aborted.js';
import { withDeadline } from '../internal/deadline.js';
import { MillraceError } from '../internal/errors.js';
import { type LongTimeout, setLongTimeout } from '../internal/long-timeout.js';
import { servedQueues } from '../internal/queue-selection.js';
import { Service, type StopOptions } from '../internal/service.js';
import type { WorkerHost } from './host.js';
import { planLanes } from './lanes/plan-lanes.js';
import { openStoragePatiently } from './open-storage-patiently.js';
import { SettledCounts } from './settled-counts.js';
import { WorkerLife } from './worker-life.js';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './worker-options.js';

export type WorkerState = 'STOPPED' | 'REGISTER' | 'RUNNING' | 'RECONNECTING' | 'DRAINING';

/** After the handlers' grace: for the last results and the goodbye. */
const farewellMs = 5_000;
/** A start waits no longer for its lanes. */
const warmMs = 10_000;

export class Worker extends Service {
  readonly id = `w-${randomBytes(4).toString('hex')}`;
  /** New at each start. */
  incarnation = '';
  /** How its attempts ended so far. */
  readonly counts = new SettledCounts();
  readonly #host: WorkerHost;
  readonly #options: ResolvedWorkerOptions;
  #lifecycle: WorkerState = 'STOPPED';
  #life: WorkerLife | null = null;
  #lanes = 0;
  #waiters: (() => void)[] = [];
  #hasten: ((deadlineMs: number) => void) | null = null;

  /** @throws MillraceError `option-unknown`, `option-invalid`, `queue-name-invalid` */
  constructor(host: WorkerHost, options: WorkerOptions = {}) {
    super('worker');
    this.#host = host;
    this.#options = resolveWorkerOptions(options, host.settings);
  }

  get lifecycle(): WorkerState {
    return this.#lifecycle;
  }

  /** Their names; where all are served `*`, with the exceptions as `!name`. */
  get queues(): readonly string[] {
    return servedQueues(this.#options.queues);
  }

  /** Jobs that it can run at once, over all its lanes; 0 before it has started. */
  get lanes(): number {
    return this.#lanes;
  }

  /** Jobs that run now. */
  get running(): number {
    return this.#life?.runner.size ?? 0;
  }

  /** In the child of a process lane, which loads the module that starts this worker, it never starts nor says that it has. */
  override start(): Promise<void> {
    const lane = laneChild();
    if (lane === null) return super.start();
    lane.started(this.#host.definitions);
    return new Promise(() => undefined);
  }

  /** Resolves when the queues held nothing that was due and all that ran is settled, or when the worker has stopped. */
  async idle(): Promise<void> {
    while (this.#life !== null && !this.#life.isIdle) await this.#change();
  }

  /**
   * Takes no more jobs, gives back those not started, lets the others end until the deadline, then aborts them and puts
   * them back uncharged. A further call with a nearer deadline ends the wait.
   */
  override stop(options: StopOptions = {}): Promise<void> {
    return super.stop({ deadlineMs: options.deadlineMs ?? this.#options.stopTimeoutMs });
  }

  protected override async doStart(signal: AbortSignal): Promise<void> {
    this.incarnation = randomBytes(8).toString('hex');
    const lanes = planLanes(this.#host, this.#options);
    this.#lanes = lanes.sizes.inline + lanes.sizes.process;
    this.#host.logger.info(lanes.sizes.text, { worker: this.id });
    for (const source of lanes.skipped)
      this.#host.logger.warn('the CPU budget leaves out a source', { source });
    this.#moveTo('REGISTER', 'started');
    const storage = await openStoragePatiently(() => this.#host.storage(), this.#host.logger, signal);
    const registered = new Promise<void>((resolve) => {
      this.#life = new WorkerLife({
        host: this.#host,
        options: this.#options,
        storage,
        workerId: this.id,
        incarnation: this.incarnation,
        counts: this.counts,
        inlineWidth: lanes.sizes.inline,
        laneSources: lanes.sources,
        cap: lanes.sizes.cap,
        endsAtMs: null,
        isOpen: () => this.#lifecycle === 'RUNNING' || this.#lifecycle === 'RECONNECTING',
        state: () => this.#lifecycle,
        onRegistered: resolve,
        onDown: (error) => this.#linkDown(error),
        onUp: () => this.#linkUp(),
        onChange: () => this.#tellChange(),
      });
    });
    const life = this.#life as unknown as WorkerLife;
    const lanesReady = life.startLanes();
    await life.link.start();
    using wait = aborted(signal);
    await Promise.race([registered, wait.fired]);
    if (lanes.sources.length > 0) await this.#untilWarm(lanesReady, wait.fired);
    if (signal.aborted) throw new MillraceError('closed', `worker ${this.id}: stopped before it had started`);
    this.#moveTo('RUNNING', 'registered');
    await life.open();
    this.#host.events.emit('worker:started', { workerId: this.id });
  }

  /** What takes longer joins when it is well: inline jobs need not wait for it. */
  async #untilWarm(lanesReady: Promise<void>, givenUp: Promise<unknown>): Promise<void> {
    try {
      const name = 'start of the lanes';
      await withDeadline(Promise.race([lanesReady, givenUp]), { ms: warmMs, name });
    } catch {
      this.#host.logger.warn('lanes are not ready yet; the worker begins without them', {
        worker: this.id,
        waitedMs: warmMs,
      });
    }
  }

  protected override async doStop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    const life = this.#life;
    if (life !== null) {
      this.#moveTo('DRAINING', 'stop was asked for');
      life.drain();
      await this.#untilNothingRuns(life, deadlineMs);
      for (const attempt of life.runner.attempts) life.runner.abort(attempt, 'stopping');
      await this.#untilNothingRuns(life, this.#host.settings.killGraceMs);
      life.abandonRest();
      await life.close(farewellMs);
      if (life.unacknowledged > 0) {
        this.#host.logger.error(
          'stopped with results that storage did not take in time; their jobs run again',
          {
            results: life.unacknowledged,
          },
        );
      }
      this.#life = null;
    }
    this.#moveTo('STOPPED', life === null ? 'stopped before it had started' : 'drained');
    this.#tellChange();
    this.#host.events.emit('worker:stopped', { workerId: this.id });
  }

  protected override hastenStop({ deadlineMs }: { readonly deadlineMs: number }): void {
    this.#hasten?.(deadlineMs);
  }

  /** At most so long; a further `stop` with a nearer deadline shortens the wait. */
  async #untilNothingRuns(life: WorkerLife, ms: number): Promise<void> {
    const over = new AbortController();
    let endsAtMs = Number.POSITIVE_INFINITY;
    let timer: LongTimeout | undefined;
    this.#hasten = (deadlineMs) => {
      if (performance.now() + deadlineMs >= endsAtMs) return;
      endsAtMs = performance.now() + deadlineMs;
      timer?.cancel();
      timer = setLongTimeout(() => over.abort(), deadlineMs);
    };
    this.#hasten(ms);
    using wait = aborted(over.signal);
    while (life.runner.size > 0 && !over.signal.aborted) await Promise.race([this.#change(), wait.fired]);
    this.#hasten = null;
    timer?.cancel();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
    });
  }

  #tellChange(): void {
    this.markProgress();
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  #linkDown(error: unknown): void {
    if (this.#lifecycle === 'RUNNING') this.#moveTo('RECONNECTING', String(error));
  }

  #linkUp(): void {
    if (this.#lifecycle === 'RECONNECTING') this.#moveTo('RUNNING', 'storage answers again');
  }

  #moveTo(state: WorkerState, reason: string): void {
    if (this.#lifecycle === state) return;
    this.#host.logger.info(`worker: ${this.#lifecycle} → ${state}`, { worker: this.id, reason });
    this.#lifecycle = state;
    this.#host.events.emit('worker:state', { workerId: this.id, state });
  }
}
