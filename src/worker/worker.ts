/**
 * A worker: takes jobs from the database or from a hub (`join/`), runs them, settles them. Its life is the table of
 * `core/worker-lifecycle.ts`; here stands what is done in each state.
 *
 * STARTING → REGISTER (until storage or a hub knows this incarnation, for ever) → RUNNING ⇄ RECONNECTING (storage or the hub does not answer;
 * jobs run on, results wait in the outbox, for ever) → DRAINING (nothing new; what runs may end) → EXIT
 *
 * Ends: a stop or a signal has a deadline, after which handlers are aborted and their jobs put back; a recycle waits for
 * its jobs' own timeouts. An operator's drain is no end: RUNNING again once it is activated. A worker in a process of its
 * own then has ended (`ended`), and whoever started the process starts another; one embedded in a program starts anew in
 * place after a recycle, as a new incarnation.
 *
 * Promises: a claimed job is settled, put back, or its lease lapses; a result is sent until storage has answered for it;
 * `stop` ends in its time whatever the database does. It does not promise that a handler runs once: see the lease rules.
 *
 * The main loop owns claims, handlers and results; registration, renewals and the control read are the link's (link.ts).
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { laneChild } from '../client/lane-child.js';
import type { Drain, DrainReason } from '../core/worker-drain.js';
import type { WorkerState } from '../core/worker-lifecycle.js';
import { aborted } from '../internal/aborted.js';
import { hasErrorCode, MillraceError } from '../internal/errors.js';
import { sweepOwnedFolders } from '../internal/owned-folder.js';
import { servedQueues } from '../internal/queue-selection.js';
import { Service, type StopOptions } from '../internal/service.js';
import type { AdminState } from '../storage/worker-record.js';
import { Changes } from './changes.js';
import type { WorkerHost } from './host.js';
import { type Slot, slotIn } from './identity/slot.js';
import type { Join, Membership } from './join/join.js';
import { StorageJoin } from './join/storage-join.js';
import { LanesWatch } from './lanes/lanes-watch.js';
import { type LanePlan, planLanes, prepareBrowser } from './lanes/plan-lanes.js';
import { WorkerLife } from './life/worker-life.js';
import { Lifecycle } from './lifecycle.js';
import { blankStatus, type WorkerIdentity } from './link/link.js';
import { LinkLoss, type LinkPart } from './link-loss.js';
import { monotonicMs } from './monotonic.js';
import { ownedProcess } from './owned-process.js';
import { Patience } from './patience.js';
import type { PoolBacklog } from './pool/pool-messages.js';
import { Recycler, type RecycleWish } from './recycler.js';
import { freshWorkerId } from './registration.js';
import { type RunBounds, unbounded } from './run-bounds.js';
import { SettledCounts } from './settled-counts.js';
import { UsageMeter } from './usage-meter.js';
import { untilWarm } from './warm-up.js';
import { LoopPulse } from './watchdog/loop-pulse.js';
import { type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './worker-options.js';

export interface WorkerStopOptions extends StopOptions {
  /** What the log and the registration say of it. @default 'stop' */
  readonly reason?: Extract<DrainReason, 'stop' | 'signal' | 'second-signal' | 'crash' | 'pool-shrink'>;
  /** @default 'its program' */
  readonly owner?: string;
}

/**
 * After the stop timeout (25 s): for handlers to end by their signal, then for the last results and the goodbye. All in all
 * within the 30 s that container runtimes and service managers allow between TERM and KILL.
 */
const stopGraceMs = 2_000;
const farewellMs = 2_500;
const slotTouchedEveryMs = 60_000;
/** Under which what operators want of it stands among the drains. */
const operator = 'operator';

/** What a life is made of. */
interface LifeParts {
  readonly join: Join;
  readonly pulse: LoopPulse;
  readonly lifecycle: Lifecycle;
  readonly lanes: LanePlan;
}

/** From the stop timeout to the end of a worker, at most. */
export const longestStopMs = stopGraceMs + farewellMs;

export class Worker extends Service {
  /** New at each start. */
  incarnation = '';
  /** How its attempts ended so far. */
  readonly counts = new SettledCounts();
  readonly #host: WorkerHost;
  readonly #options: ResolvedWorkerOptions;
  #bounds: RunBounds = unbounded;
  #id = freshWorkerId();
  #starts = 0;
  #lifecycle: Lifecycle | null = null;
  #life: WorkerLife | null = null;
  #lanes = 0;
  #slot: Slot | null = null;
  #recycler: Recycler | null = null;
  #jobsBefore = 0;
  #loss: LinkLoss;
  #pulse: LoopPulse | null = null;
  #membership: Membership | null = null;
  #touchedAtMs = 0;
  #isStopWanted = false;
  #failure: unknown = null;
  readonly #changes = new Changes();
  readonly #patience = new Patience(this.#changes);

  /** @throws MillraceError `option-unknown`, `option-invalid`, `queue-name-invalid` */
  constructor(host: WorkerHost, options: WorkerOptions = {}) {
    super('worker');
    this.#host = host;
    this.#options = resolveWorkerOptions(options, host.settings);
    this.#loss = new LinkLoss(host.logger, () => this.#id);
  }

  /** Known for good once it is registered: with a `stateDir` it is the one that was kept there. */
  get id(): string {
    return this.#id;
  }

  /** `EXIT` also before the first start. */
  get lifecycle(): WorkerState {
    return this.#lifecycle?.state ?? 'EXIT';
  }

  /** Their names; where all are served `*`, with the exceptions as `!name`. */
  get queues(): readonly string[] {
    return servedQueues(this.#options.queues);
  }

  /** Jobs that it can run at once, over all its lanes; 0 before it has started. */
  get lanes(): number {
    return this.#lanes;
  }

  /** What waits in its queues, as its hub knows; null without a hub, or before it has joined one. */
  async backlog(): Promise<PoolBacklog | null> {
    return (await this.#membership?.backlog?.()) ?? null;
  }

  /** For a run with an end; before the start. */
  setBounds(bounds: RunBounds): void {
    this.#bounds = bounds;
  }

  /** Jobs that run now. */
  get running(): number {
    return this.#life?.runner.size ?? 0;
  }

  /** In the child of a process lane, which loads the module that starts this worker, it never starts nor says that it has. */
  override start(): Promise<void> {
    const lane = laneChild();
    if (lane !== null) {
      lane.started(this.#host.definitions);
      return new Promise(() => undefined);
    }
    this.#isStopWanted = false;
    return super.start();
  }

  /** Resolves when the queues held nothing that was due and all that ran is settled, or when the worker has stopped. */
  async idle(): Promise<void> {
    for (;;) {
      while (this.#life !== null && !this.#life.isIdle) await this.#changes.next();
      // A queue that has only just come to be may hold something.
      await this.#life?.lookForQueues();
      if (this.#life === null || this.#life.isIdle) return;
    }
  }

  /** Resolves when it has stopped, by whatever hand: a call, a recycle. */
  async ended(): Promise<void> {
    while (this.state !== 'stopped') await this.#changes.next();
  }

  /**
   * Takes no more jobs, gives back those not started, lets the others end until the deadline, then aborts them and puts
   * them back uncharged. A further call with a nearer deadline ends the wait.
   */
  override stop(options: WorkerStopOptions = {}): Promise<void> {
    const { reason = 'stop', owner = 'its program', deadlineMs = this.#options.stopTimeoutMs } = options;
    this.#isStopWanted = true;
    const endsAtMs = Number.isFinite(deadlineMs) ? monotonicMs() + deadlineMs : null;
    if (this.state !== 'stopped') this.#lifecycle?.ask({ reason, owner, deadlineMs: endsAtMs });
    return super.stop({ deadlineMs });
  }

  protected override async doStart(signal: AbortSignal): Promise<void> {
    this.incarnation = randomBytes(8).toString('hex');
    this.#starts += 1;
    this.#failure = null;
    this.#loss = new LinkLoss(this.#host.logger, () => this.#id);
    this.#jobsBefore = this.counts.ended;
    const { logger, events } = this.#host;
    const lifecycle = new Lifecycle({ workerId: () => this.#id, logger, events });
    this.#lifecycle = lifecycle;
    try {
      const browser = await prepareBrowser(this.#host, this.#options, signal);
      const lanes = planLanes(this.#host, this.#options, browser);
      this.#lanes = lanes.sizes.inline + lanes.sizes.process + lanes.sizes.browser;
      logger.info(lanes.sizes.text, { worker: this.#id });
      for (const source of lanes.skipped) logger.warn('the CPU budget leaves out a source', { source });
      // Inline slots are there at once; lanes that are processes come up beside the registration.
      lifecycle.send('lanes-ready', lanes.sizes.text);
      const pulse = new LoopPulse(this.#host.settings.heartbeatMs);
      this.#pulse = pulse;
      const parts = { join: await this.#join(pulse), pulse, lifecycle, lanes };
      await this.#begin(parts, signal);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  /** What speaks to a hub is loaded where there is one: a bundled application with a database needs no socket. */
  async #join(pulse: LoopPulse): Promise<Join> {
    if (this.#options.hub === null) return new StorageJoin(this.#host, this.#options, pulse);
    const { HubJoin } = await import('./join/hub-join.js');
    return new HubJoin(this.#host, this.#options, pulse);
  }

  async #begin(parts: LifeParts, signal: AbortSignal): Promise<void> {
    const { join, lifecycle, lanes } = parts;
    const { logger, events } = this.#host;
    void sweepOwnedFolders({ logger });
    const { isShared } = await join.open(signal);
    this.#slot = isShared ? slotIn(this.#options.stateDir, { incarnation: this.incarnation, logger }) : null;
    const identity = { ...this.#identity(lanes), id: this.#slot?.id ?? this.#id };
    const membership = await join.register({
      ...{ identity, signal, status: { ...blankStatus, ...lifecycle.status } },
      ended: this.#slot?.ended ?? null,
    });
    const { id, adminState } = membership;
    this.#membership = membership;
    this.#id = id;
    logger.info('registered', { worker: id, adminState });
    const life = this.#createLife(parts, { ...identity, id }, membership);
    this.#life = life;
    this.#recycler = this.#createRecycler(membership);
    const lanesReady = life.startLanes();
    await life.link.start();
    using wait = aborted(signal);
    if (lanes.sources.length > 0) await untilWarm(lanesReady, { workerId: id, logger, givenUp: wait.fired });
    if (signal.aborted) throw new MillraceError('closed', `worker ${id}: stopped before it had started`);
    lifecycle.send('registered', 'registered');
    life.noteAdminState(adminState);
    await life.open();
    events.emit('worker:started', { workerId: id });
    membership.turns
      .giveBack()
      .catch((error: unknown) =>
        logger.debug('recycle: the turn of the incarnation before lapses by its time', { error }),
      );
  }

  protected override async doStop({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    const { life, lifecycle } = { life: this.#life, lifecycle: this.#lifecycle };
    if (life !== null) await this.#end(life, deadlineMs);
    else if (this.#isStopWanted) {
      lifecycle?.ask({ reason: 'stop', owner: 'its program', deadlineMs: null });
      lifecycle?.send('work-done', 'stopped before it had started');
    } else lifecycle?.send('failed', String(this.#failure));
    this.#life = null;
    this.#recycler = null;
    this.#pulse?.[Symbol.dispose]();
    this.#pulse = null;
    this.#membership = null;
    this.#slot?.release();
    this.#slot = null;
    this.#host.events.emit('worker:stopped', { workerId: this.#id });
    // Once the service knows it too.
    setImmediate(() => this.#tellChange());
  }

  protected override hastenStop({ deadlineMs }: { readonly deadlineMs: number }): void {
    this.#patience.shorten(deadlineMs);
  }

  async #end(life: WorkerLife, deadlineMs: number): Promise<void> {
    const lifecycle = this.#lifecycle as Lifecycle;
    if (!lifecycle.isEnding) lifecycle.ask({ reason: 'stop', owner: 'its own start', deadlineMs: null });
    life.drain();
    const isOver = (): boolean => life.runner.size === 0;
    await this.#patience.until(isOver, deadlineMs);
    if (life.runner.size > 0) {
      lifecycle.send('deadline-passed', 'the drain’s time is over');
      for (const attempt of life.runner.attempts) life.runner.abort(attempt, 'stopping');
      await this.#patience.until(isOver, Math.min(this.#host.settings.killGraceMs, stopGraceMs));
    }
    const hasLeft = life.runner.size > 0;
    life.abandonRest();
    const farewell = AbortSignal.timeout(farewellMs);
    await life.settleRest(farewell);
    if (hasLeft) lifecycle.send('grace-passed', 'handlers that did not end are left behind');
    else lifecycle.send('work-done', 'drained');
    await this.#recycler?.leave();
    await life.close(farewell, farewellMs);
    if (life.unacknowledged > 0) {
      this.#host.logger.error(
        'stopped with results that storage did not take in time; their jobs run again',
        {
          results: life.unacknowledged,
        },
      );
    }
  }

  /** Takes nothing more, lets what runs end by its own timeouts, and stops; in a program it starts anew. */
  async #recycle(wish: RecycleWish, isCutOff = false): Promise<void> {
    const { logger, events } = this.#host;
    const own = ownedProcess();
    const { life, lifecycle } = { life: this.#life, lifecycle: this.#lifecycle };
    if (life === null || lifecycle === null || lifecycle.isEnding) return;
    logger.info(`recycle: ${wish.text}, draining`, { worker: this.#id });
    if (wish.reason === 'lanes-quarantined') life.noteLanesLost(wish.text);
    if (own === null && (wish.reason === 'memory' || wish.reason === 'lanes-quarantined'))
      events.emit('worker:unhealthy', { workerId: this.#id, reason: wish.text });
    const drain: Drain = { reason: wish.reason, owner: 'recycler', deadlineMs: null };
    lifecycle.ask(drain);
    life.drain();
    while (this.#life === life && !life.isDone && !isCutOff) await this.#changes.next();
    // Somebody stopped it meanwhile, and that has its own end.
    if (this.#isStopWanted) return;
    await super.stop({ deadlineMs: isCutOff ? 0 : this.#options.stopTimeoutMs });
    logger.info(`recycle: done, jobs_done=${this.counts.ended - this.#jobsBefore}`, { worker: this.#id });
    if (own === null && !this.#isStopWanted) await super.start();
  }

  #noteAdminState(adminState: AdminState): void {
    const lifecycle = this.#lifecycle as Lifecycle;
    if (adminState === 'drain') {
      lifecycle.ask({ reason: 'operator-drain', owner: operator, deadlineMs: null });
      this.#life?.drain();
    } else if (lifecycle.cancel(operator, `operator set ${adminState}`)) {
      if (this.#loss.isLost) lifecycle.send('link-lost', 'the link is still lost');
    }
  }

  #tick(): void {
    const nowMs = monotonicMs();
    if (nowMs - this.#touchedAtMs >= slotTouchedEveryMs) {
      this.#touchedAtMs = nowMs;
      this.#slot?.touch();
    }
    this.#recycler?.tick({
      jobsDone: this.counts.ended - this.#jobsBefore,
      rssBytes: process.memoryUsage.rss(),
      ageMs: process.uptime() * 1_000,
      lostLanes: this.#life?.lostLanes() ?? null,
    });
    if (this.lifecycle === 'DRAINING') this.#tellChange();
  }

  /** A lost connection to the hub is told by the connection itself, and a failed exchange only follows from it. */
  #storageDown(error: unknown, waitMs: number): void {
    if (hasErrorCode(error, 'hub-unreachable')) return;
    this.#linkDown('storage', error instanceof Error ? error.message : String(error), waitMs);
  }

  #linkDown(what: LinkPart, text: string, waitMs: number): void {
    this.#loss.note(what, text, waitMs);
    this.#lifecycle?.send('link-lost', text);
  }

  #linkUp(what: LinkPart): void {
    if (this.#loss.noteReturn(what)) this.#lifecycle?.send('link-restored', `${what} answers again`);
  }

  /** Another process is this incarnation now, and has its leases: here all of it ends, without a word to anyone. */
  #superseded(): void {
    const life = this.#life;
    if (life === null) return;
    for (const attempt of life.runner.attempts) life.runner.abort(attempt, 'lease-lost');
    this.#recycle({ reason: 'recycle-asked', text: 'another process took its place' }, true).catch(
      (error: unknown) =>
        this.#host.logger.error('a worker could not start anew', { worker: this.#id, error }),
    );
  }

  #identity({ sizes }: LanePlan): WorkerIdentity {
    return {
      id: this.#id,
      incarnation: this.incarnation,
      host: hostname(),
      pid: process.pid,
      version: this.#host.version,
      queues: this.queues,
      handlers: [...this.#host.definitions.keys()],
      labels: this.#options.labels,
      concurrency: sizes.inline,
      restarts: this.#slot?.restarts ?? this.#starts - 1,
    };
  }

  #createLife(parts: LifeParts, identity: WorkerIdentity, membership: Membership): WorkerLife {
    const { pulse, lifecycle, lanes } = parts;
    const windowMs = this.#host.settings.heartbeatMs;
    return new WorkerLife({
      host: this.#host,
      options: this.#options,
      membership,
      pulse,
      identity,
      counts: this.counts,
      inlineWidth: lanes.sizes.inline,
      laneSources: lanes.sources,
      lanesWatch: new LanesWatch({ ...lanes, logger: this.#host.logger }),
      cap: lanes.sizes.cap,
      bounds: this.#bounds,
      recycleAtBytes: ownedProcess()?.recycle.memory.value ?? null,
      isOpen: () => lifecycle.state === 'RUNNING' || lifecycle.state === 'RECONNECTING',
      lifecycle: () => lifecycle.status,
      usage: new UsageMeter({ windowMs, folder: this.#slot?.folder ?? null }),
      onAdminState: (adminState) => this.#noteAdminState(adminState),
      onRecycleAsked: () => this.#recycler?.ask({ reason: 'recycle-asked', text: 'asked by an operator' }),
      onTick: () => this.#tick(),
      onDown: (error, waitMs) => this.#storageDown(error, waitMs),
      onUp: () => this.#linkUp('storage'),
      onLinkLost: (text, waitMs) => this.#linkDown('hub', text, waitMs),
      onLinkRestored: () => this.#linkUp('hub'),
      onSuperseded: () => this.#superseded(),
      onChange: () => this.#tellChange(),
    });
  }

  #createRecycler({ turns }: Membership): Recycler {
    const { logger } = this.#host;
    const never = { value: 0, isExplicit: true };
    const jobs = { value: this.#options.recycleAfterJobs ?? 0, isExplicit: true };
    return new Recycler({
      ...{ turns, logger },
      rules: ownedProcess()?.recycle ?? { jobs, memory: never },
      onTurn: (wish) =>
        void this.#recycle(wish).catch((error: unknown) => {
          this.#host.events.emit('worker:unhealthy', { workerId: this.#id, reason: String(error) });
          logger.error('a recycled worker could not start anew', { worker: this.#id, error });
        }),
    });
  }

  #tellChange(): void {
    this.markProgress();
    this.#changes.tell();
  }
}
