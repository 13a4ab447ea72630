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
import { hostname } from 'node:os';
import { aborted } from '../internal/aborted.js';
import { MillraceError } from '../internal/errors.js';
import { Service } from '../internal/service.js';
import type { ClaimedJob } from '../storage/claimed-job.js';
import type { SettleOutcome, Settlement } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';
import type { Attempt } from './attempt.js';
import { AttemptLog } from './attempt-log.js';
import { Buffer } from './buffer.js';
import { BufferDepth } from './buffer-depth.js';
import { type ClaimRoom, ExchangeLoop } from './exchange-loop.js';
import { Executor } from './executor.js';
import type { WorkerHost } from './host.js';
import { LeaseAudit } from './lease-audit.js';
import type { Link, LinkListener, LinkSnapshot } from './link/link.js';
import { openLink } from './link/open-link.js';
import { LoneRun } from './lone-run.js';
import { monotonicMs } from './monotonic.js';
import { Outbox, type OutboxEntry } from './outbox.js';
import { openStoragePatiently } from './open-storage-patiently.js';
import { Runner } from './runner.js';
import { SettledCounts } from './settled-counts.js';
import { emitSettled } from './settled-events.js';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './worker-options.js';

export type WorkerState = 'STOPPED' | 'REGISTER' | 'RUNNING' | 'RECONNECTING' | 'DRAINING';

const statusEveryMs = 1_000;
const maxBatch = 1_000;
/** After the handlers' grace: for the last results and the goodbye. */
const farewellMs = 5_000;

export class Worker extends Service {
  readonly id = `w-${randomBytes(4).toString('hex')}`;
  readonly incarnation = randomBytes(8).toString('hex');
  readonly #host: WorkerHost;
  readonly #options: ResolvedWorkerOptions;
  readonly #outbox = new Outbox();
  readonly #buffer: Buffer;
  readonly #depth: BufferDepth;
  readonly counts = new SettledCounts();
  #lifecycle: WorkerState = 'STOPPED';
  #life: Life | null = null;
  #clockSkewMs = 0;
  #isOperatorPaused = false;
  #hasten: (() => void) | null = null;

  constructor(host: WorkerHost, options: WorkerOptions = {}) {
    super('worker');
    this.#host = host;
    this.#options = resolveWorkerOptions(options, host.settings);
    this.#buffer = new Buffer(this.#options.queues);
    this.#depth = new BufferDepth(this.#options.concurrency);
  }

  get lifecycle(): WorkerState {
    return this.#lifecycle;
  }

  /** Jobs that run now. */
  get running(): number {
    return this.#life?.runner.size ?? 0;
  }

  get queues(): readonly string[] {
    return this.#options.queues;
  }

  /** Resolves when the queues held nothing due and all that ran is settled. */
  async idle(signal?: AbortSignal): Promise<void> {
    while (signal?.aborted !== true && this.#life !== null && !this.#isIdle(this.#life)) {
      await new Promise<void>((resolve) => {
        this.#onIdleLook = resolve;
      });
    }
  }
  #onIdleLook: (() => void) | null = null;

  protected override async doStart(signal: AbortSignal): Promise<void> {
    this.#moveTo('REGISTER', 'started');
    const storage = await openStoragePatiently(() => this.#host.storage(), this.#host.logger, signal);
    let onRegistered: () => void = () => undefined;
    const registered = new Promise<void>((resolve) => {
      onRegistered = resolve;
    });
    const life = this.#createLife(storage, onRegistered);
    this.#life = life;
    await life.link.start();
    await Promise.race([registered, aborted(signal)]);
    if (signal.aborted) throw new MillraceError('closed', `worker ${this.id}: stopped before it had started`);
    life.runner.open();
    life.status = setInterval(() => this.#tick(life), statusEveryMs);
    life.watch = await storage.watch(() => life.exchange.wake());
    this.#moveTo('RUNNING', 'registered');
    this.#tick(life);
    life.exchange.wake();
  }

  protected override async doStop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    const life = this.#life;
    if (life === null) return this.#moveTo('STOPPED', 'stopped before it had started');
    this.#moveTo('DRAINING', 'stop was asked for');
    life.loneRun.close();
    this.#returnBuffer('worker-stopping');
    this.#tick(life);
    life.exchange.poke();
    await this.#untilEmpty(life, deadlineMs);
    for (const attempt of life.runner.attempts) life.runner.abort(attempt, 'stopping');
    await this.#untilEmpty(life, this.#host.settings.killGraceMs);
    this.#settleRest(life);
    await this.#farewell(life);
    this.#life = null;
    this.#moveTo('STOPPED', 'drained');
  }

  protected override hastenStop(): void {
    this.#hasten?.();
  }

  #createLife(storage: Storage, onRegistered: () => void): Life {
    const { settings, logger, definitions, events } = this.#host;
    const random = Math.random;
    const log = new AttemptLog(storage, logger);
    const executor = new Executor({
      ports: {
        log: (line) => log.add(line),
        dispatch: this.#host.dispatch,
        renew: (attempt) => this.#renewNow(storage, attempt),
        logger,
      },
      workerId: this.id,
      maxPayloadBytes: settings.maxPayloadBytes,
      random,
      now: () => Math.round(Date.now() + this.#clockSkewMs),
    });
    const runner = new Runner({
      concurrency: this.#options.concurrency,
      definitions,
      executor,
      storage,
      log,
      logger,
      killGraceMs: settings.killGraceMs,
      onStart: events.listenerCount('job:started') > 0 ? (attempt) => this.#emitStarted(attempt) : null,
      onEnd: (attempt, settlement) => this.#attemptEnded(attempt, settlement),
      onRoom: () => this.#noteRoom(),
    });
    const exchange = new ExchangeLoop({
      storage,
      outbox: this.#outbox,
      workerId: this.id,
      incarnation: this.incarnation,
      queues: this.#options.queues,
      names: [...definitions.keys()],
      leaseMs: settings.leaseMs,
      pollMs: settings.pollMs,
      logger,
      random,
      room: () => this.#room(),
      onClaimed: (jobs, room, sentAtMs) => this.#claimed(jobs, room, sentAtMs),
      onSettled: (entries, outcomes) => this.#settled(entries, outcomes),
      onAloneDue: () => loneRun.noteDue(),
      onDown: (error) => this.#linkDown(error),
      onUp: () => this.#linkUp(),
    });
    const loneRun = new LoneRun({
      random,
      isEmpty: () => runner.size === 0 && this.#buffer.size === 0 && this.#outbox.size === 0 && !exchange.isBusy,
      returnBuffer: () => this.#returnBuffer('makes room for a job that must run alone'),
      poke: () => exchange.wake(),
    });
    const audit = new LeaseAudit({
      buffer: this.#buffer,
      attempts: runner.attempts,
      settling: () => this.#outbox.ids(),
      isExchanging: () => exchange.isBusy,
      abort: (attempt, cause) => runner.abort(attempt, cause),
      cancelBuffered: ({ job }) => this.#send({ id: job.id, token: job.token, kind: 'cancelled', reason: 'operator' }, job),
      dropBuffered: ({ job }) => logger.warn('a buffered job was taken from this worker', { job: job.id, name: job.name }),
      putBackOrphan: (lease) => this.#send({ ...lease, kind: 'put-back', delayMs: 0, reason: 'its worker did not know of it' }, null),
    });
    const link = openLink(this.#host, storage, this.#identity(), this.#options, this.#listener(audit, onRegistered));
    return { storage, log, runner, exchange, loneRun, link, watch: null, status: null };
  }

  #identity() {
    return {
      id: this.id,
      incarnation: this.incarnation,
      host: hostname(),
      pid: process.pid,
      version: this.#host.version,
      queues: this.#options.queues,
      handlers: [...this.#host.definitions.keys()],
      concurrency: this.#options.concurrency,
    };
  }

  #listener(audit: LeaseAudit, onRegistered: () => void): LinkListener {
    return {
      onRegistered: (adminState) => {
        this.#host.logger.info('registered', { worker: this.id, adminState });
        onRegistered();
      },
      onSnapshot: (snapshot) => this.#takeSnapshot(audit, snapshot),
      onClockSkew: (skewMs) => {
        this.#clockSkewMs = skewMs;
      },
      onAdminState: (adminState) => {
        this.#isOperatorPaused = adminState !== 'active';
        if (this.#isOperatorPaused) this.#returnBuffer(`operator set ${adminState}`);
        else this.#life?.exchange.wake();
      },
      onLog: (level, message, fields) => this.#host.logger[level](message, fields),
    };
  }

  #takeSnapshot(audit: LeaseAudit, snapshot: LinkSnapshot): void {
    audit.take(snapshot);
    if (snapshot.paused.length === 0 || this.#buffer.size === 0) return;
    const paused = new Set(snapshot.paused);
    this.#putBack(this.#buffer.remove(({ job }) => paused.has(job.queue)).map(({ job }) => job), 'queue paused');
  }

  /** What a claim may take now; the one place that decides it. */
  #room(): ClaimRoom | null {
    const life = this.#life;
    if (life === null || (this.#lifecycle !== 'RUNNING' && this.#lifecycle !== 'RECONNECTING') || this.#isOperatorPaused) return null;
    if (life.loneRun.isExclusive) return life.loneRun.wantsClaim ? { limit: 1, start: 1, alone: true } : null;
    const target = this.#depth.target;
    const idleSlots = life.runner.free - this.#buffer.size;
    if (idleSlots <= 0 && (target === 0 || this.#buffer.size > target / 2)) return null;
    const limit = Math.min(Math.max(life.runner.free, 0) + target - this.#buffer.size, maxBatch);
    return limit < 1 ? null : { limit, start: Math.max(idleSlots, 0), alone: false };
  }

  #claimed(jobs: readonly ClaimedJob[], room: ClaimRoom, sentAtMs: number): void {
    const life = this.#life;
    if (life === null) return;
    if (room.alone) life.loneRun.noteClaimed(jobs.length);
    if (jobs.length === room.limit) this.#depth.grow();
    this.#buffer.add(jobs, sentAtMs);
    if (this.#lifecycle === 'DRAINING') this.#returnBuffer('worker-stopping');
    else life.runner.fill(this.#buffer);
  }

  #attemptEnded(attempt: Attempt, settlement: Settlement | null): void {
    const durationMs = monotonicMs() - attempt.startedAtMs;
    this.#depth.observe(durationMs);
    this.markProgress();
    if (settlement === null) this.counts.add('lease-lost');
    else this.#send(settlement, attempt.job, durationMs);
  }

  #noteRoom(): void {
    const life = this.#life;
    if (life === null) return;
    if (this.#lifecycle !== 'DRAINING' && !life.loneRun.isExclusive) life.runner.fill(this.#buffer);
    life.exchange.poke();
    this.#look(life);
  }

  #settled(entries: readonly OutboxEntry[], outcomes: readonly SettleOutcome[]): void {
    const { events, logger } = this.#host;
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index] as OutboxEntry;
      const { settlement } = entry;
      const outcome = outcomes[index];
      if (outcome === 'done') {
        this.counts.add(settlement.kind);
        emitSettled(events, entry, this.id);
      } else {
        this.counts.add('lease-lost');
        logger.warn('a result was refused: the lease is no longer this worker’s', { job: settlement.id, kind: settlement.kind, outcome });
      }
    }
    const life = this.#life;
    if (life !== null) this.#look(life);
  }

  /** After anything that may have emptied the worker. */
  #look(life: Life): void {
    if (life.runner.size > 0) return;
    setImmediate(() => {
      life.loneRun.noteRoom();
      this.#onIdleLook?.();
    });
  }

  #isIdle(life: Life): boolean {
    return life.runner.size === 0 && this.#buffer.size === 0 && this.#outbox.size === 0 && life.exchange.isDry && life.loneRun.state === 'off';
  }

  #send(settlement: Settlement, job: ClaimedJob | null, durationMs = 0): void {
    this.#outbox.add({ settlement, job, durationMs });
    this.#life?.exchange.poke();
  }

  #putBack(jobs: readonly ClaimedJob[], reason: string): void {
    for (const job of jobs) this.#send({ id: job.id, token: job.token, kind: 'put-back', delayMs: 0, reason }, job);
  }

  #returnBuffer(reason: string): void {
    this.#putBack(this.#buffer.remove(() => true).map(({ job }) => job), reason);
  }

  #tick(life: Life): void {
    const memory = process.memoryUsage();
    const details = { rssBytes: memory.rss, heapBytes: memory.heapUsed, buffered: this.#buffer.size, unacknowledged: this.#outbox.size };
    life.link.report({ state: this.#lifecycle, running: life.runner.size, jobsDone: this.counts.ended, details });
    // A worker that is never dry would not hear of jobs that must run alone.
    if (this.#lifecycle === 'RUNNING') void life.exchange.peekIfStale(statusEveryMs);
  }

  #linkDown(error: unknown): void {
    if (this.#lifecycle === 'RUNNING') this.#moveTo('RECONNECTING', String(error));
  }

  #linkUp(): void {
    if (this.#lifecycle === 'RECONNECTING') this.#moveTo('RUNNING', 'storage answers again');
  }

  async #renewNow(storage: Storage, attempt: Attempt): Promise<boolean> {
    const held = await storage.renew(this.incarnation, this.#host.settings.leaseMs);
    const isHeld = held.some(({ id, token }) => id === attempt.job.id && token === attempt.job.token);
    if (!isHeld) this.#life?.runner.abort(attempt, 'lease-lost');
    return isHeld;
  }

  /** Waits until nothing runs and every result is acknowledged, at most so long; a further `stop` ends the wait. */
  async #untilEmpty(life: Life, ms: number): Promise<void> {
    const over = new AbortController();
    this.#hasten = () => over.abort();
    const timer = setTimeout(() => over.abort(), ms);
    while (life.runner.size > 0 && !over.signal.aborted) {
      const ended = new Promise<void>((resolve) => {
        this.#onIdleLook = resolve;
      });
      await Promise.race([ended, aborted(over.signal)]);
    }
    clearTimeout(timer);
    this.#hasten = null;
  }

  /** What still runs after the grace is put back without it; its late result will be refused. */
  #settleRest(life: Life): void {
    for (const attempt of life.runner.attempts) {
      if (attempt.isAbandoned || attempt.abortCause === 'lease-lost') continue;
      attempt.isAbandoned = true;
      this.#send({ id: attempt.job.id, token: attempt.job.token, kind: 'put-back', delayMs: 0, reason: 'worker-stopping' }, attempt.job);
    }
  }

  async #farewell(life: Life): Promise<void> {
    const signal = AbortSignal.timeout(farewellMs);
    if (life.status !== null) clearInterval(life.status);
    await life.exchange.drain(signal);
    await life.exchange.close(signal);
    await life.log.flushBeforeSettle();
    await life.watch?.[Symbol.asyncDispose]();
    await life.link.stop(farewellMs);
    life.runner.close();
    if (this.#outbox.size > 0) {
      this.#host.logger.error('stopped with results that storage did not take in time; their jobs run again after their leases', { results: this.#outbox.size });
    }
  }

  #emitStarted({ job }: Attempt): void {
    const { id, name, queue, attempts } = job;
    this.#host.events.emit('job:started', { id, name, queue, attempt: attempts + 1, workerId: this.id });
  }

  #moveTo(state: WorkerState, reason: string): void {
    if (this.#lifecycle === state) return;
    const from = this.#lifecycle;
    this.#lifecycle = state;
    this.#host.logger.info(`worker: ${from} → ${state}`, { worker: this.id, reason });
    this.#host.events.emit('worker:state', { workerId: this.id, state });
  }
}

/** All that exists from start to stop. */
interface Life {
  readonly storage: Storage;
  readonly log: AttemptLog;
  readonly runner: Runner;
  readonly exchange: ExchangeLoop;
  readonly loneRun: LoneRun;
  readonly link: Link;
  watch: AsyncDisposable | null;
  status: NodeJS.Timeout | null;
}
