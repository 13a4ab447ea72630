/**
 * Everything that exists between a start and a stop of a worker, wired together. Here stands what follows from what; each
 * part knows only its own business:
 *
 *   exchange ──claimed──▶ intake ──start──▶ runner, lanes ──ended──▶ results ──settle──▶ exchange
 *   slots       what fits in where             leases     what storage says of what is held here
 *   admission   what may start                 report     what is told of all that
 */
import type { LaneKind } from '../../core/lane-kind.js';
import type { Settlement } from '../../storage/settlement.js';
import type { AdminState } from '../../storage/worker-record.js';
import { Admission } from '../admission/admission.js';
import type { Attempt } from '../attempt.js';
import { AttemptLog } from '../attempt-log.js';
import { Buffer } from '../buffer.js';
import { BufferDepth } from '../buffer-depth.js';
import type { ClaimPlan } from '../claims/claim-plan.js';
import { type CreatedPlan, createPlan } from '../claims/create-plan.js';
import type { KnownQueues } from '../claims/known-queues.js';
import { ExchangeLoop } from '../exchange-loop.js';
import { Executor } from '../executor.js';
import { Alarms } from '../health/alarms.js';
import { FoundMeter } from '../health/found-meter.js';
import { countSlots, SlotWatch } from '../health/slot-watch.js';
import type { LanePorts } from '../lanes/lane.js';
import { LaneGroup } from '../lanes/lane-group.js';
import { LaneSteps } from '../lanes/lane-steps.js';
import { QuarantineWatch } from '../lanes/quarantine-watch.js';
import type { HubLinkListener } from '../link/hub/hub-link.js';
import type { Link } from '../link/link.js';
import { LoneRun } from '../lone-run.js';
import { monotonicMs } from '../monotonic.js';
import { Runner } from '../runner.js';
import { StandbyGate } from '../standby-gate.js';
import { Intake } from './intake.js';
import { kindOf, namesByKind } from './kind-of.js';
import { LeaseWatch } from './lease-watch.js';
import type { LifeOptions } from './life-options.js';
import { contextPorts, executorFacts, lanePorts } from './ports.js';
import { lifeReport } from './report.js';
import { Results } from './results.js';
import { Slots } from './slots.js';

const statusEveryMs = 1_000;

export class WorkerLife {
  readonly runner: Runner;
  readonly exchange: ExchangeLoop;
  readonly link: Link;
  readonly #options: LifeOptions;
  readonly #plan: ClaimPlan;
  readonly #knownQueues: KnownQueues | null;
  readonly #lanes: readonly LaneGroup[];
  readonly #steps: LaneSteps;
  readonly #quarantine: QuarantineWatch;
  readonly #admission: Admission;
  readonly #buffer: Buffer;
  readonly #depth: BufferDepth;
  readonly #results: Results;
  readonly #slots: Slots;
  readonly #intake: Intake;
  readonly #leases: LeaseWatch;
  readonly #alarms: Alarms;
  readonly #slotWatch: SlotWatch;
  readonly #found: FoundMeter;
  readonly #log: AttemptLog;
  readonly #loneRun: LoneRun;
  readonly #standby: StandbyGate;
  #watch: AsyncDisposable | null = null;
  #status: NodeJS.Timeout | null = null;
  #adminState: AdminState = 'active';
  #clockSkewMs = 0;
  #isLookScheduled = false;

  constructor(options: LifeOptions) {
    this.#options = options;
    const { host, membership } = options;
    const { queues } = options.options;
    this.#buffer = new Buffer(queues.order === 'strict' ? queues.queues : null);
    this.#depth = new BufferDepth(options.inlineWidth);
    this.#log = new AttemptLog(membership.storage, host.logger);
    this.#alarms = new Alarms({ ...host, workerId: options.identity.id });
    this.#steps = new LaneSteps({ events: host.events, workerId: options.identity.id });
    this.#found = this.#createMeter();
    this.#results = new Results({
      ...options,
      onSent: () => this.exchange.poke(),
      onSettled: () => this.#look(),
    });
    this.#admission = this.#createAdmission();
    const { executor, ports } = this.#createPorts();
    this.#lanes = options.laneSources.map((source) => new LaneGroup(source.kind, source.create(ports)));
    const browserLanes = this.#lanes.filter(({ kind }) => kind === 'browser');
    this.#quarantine = new QuarantineWatch({ lanes: () => browserLanes.flatMap(({ lanes }) => lanes) });
    this.runner = this.#createRunner(executor, ports);
    this.#slots = this.#createSlots();
    this.#slotWatch = new SlotWatch({
      // Without storage, how an attempt ended may not be known for as long as that lasts.
      count: () => (options.lifecycle().state === 'RECONNECTING' ? [] : countSlots(this.runner, this.#lanes)),
      lastingMs: host.settings.heartbeatMs + host.settings.values.databaseTimeoutMs,
    });
    const { plan, knownQueues } = this.#createPlan();
    this.#plan = plan;
    this.#knownQueues = knownQueues;
    this.exchange = this.#createExchange();
    this.#loneRun = new LoneRun({
      random: Math.random,
      isEmpty: () => this.#holdsNothing && !this.exchange.isBusy,
      returnBuffer: () => this.#intake.makeRoom(),
      poke: () => this.exchange.wake(),
    });
    this.#intake = this.#createIntake();
    this.#leases = this.#createLeases();
    this.#standby = this.#createStandby();
    this.link = membership.createLink(this.#listener());
  }

  get isIdle(): boolean {
    if (this.#holdsNothing && this.#slots.startsLeft <= 0) return true;
    const isStarting = this.#lanes.some(({ starting }) => starting > 0);
    return this.#holdsNothing && !isStarting && this.#plan.isEmpty && !this.#loneRun.isExclusive;
  }

  get unacknowledged(): number {
    return this.#results.outbox.size;
  }

  /** Everything that it took is settled, and acknowledged; handlers that ignore their signal may still go on. */
  get isDone(): boolean {
    const isLeft = [...this.runner.attempts].some(({ isAbandoned }) => !isAbandoned);
    return !isLeft && this.#buffer.size === 0 && this.unacknowledged === 0 && !this.exchange.isBusy;
  }

  get #holdsNothing(): boolean {
    return this.runner.size === 0 && this.#buffer.size === 0 && this.unacknowledged === 0;
  }

  /** Called every second: lanes that only a fresh worker may cure, in words; null: none. */
  lostLanes(): string | null {
    return this.#quarantine.look();
  }

  /** The worker makes room for a fresh one for their sake. */
  noteLanesLost(reason: string): void {
    this.#steps.take({
      ...{ kind: 'browser', lane: 0, step: 'recycle-worker', helped: true },
      ...{ reason, jobId: null, tookMs: null },
    });
  }

  /** Side by side; resolves once each lane takes work or is known not to. */
  async startLanes(): Promise<void> {
    await Promise.all(this.#lanes.map((group) => group.start()));
  }

  /** Begins to take jobs. */
  async open(): Promise<void> {
    this.runner.open();
    this.#options.pulse.start();
    this.#knownQueues?.open();
    await Promise.all([this.#admission.open(), this.lookForQueues()]);
    this.#status = setInterval(() => this.#tick(), statusEveryMs);
    // What waits already needs no wake-up, for which a server makes a connection of its own first.
    this.exchange.wake();
    this.#watch = await this.#options.membership.storage.watch((queues) => {
      if (queues === null) void this.#knownQueues?.refresh();
      else this.#knownQueues?.note(queues);
      this.exchange.push(queues);
    });
    this.#tick();
    this.exchange.wake();
  }

  /** Where all queues are served: looks which there are. */
  async lookForQueues(): Promise<void> {
    await this.#knownQueues?.refresh();
  }

  /** What operators want: a drain is the lifecycle's, standby is a matter of claims. */
  noteAdminState(adminState: AdminState): void {
    if (this.#adminState === adminState) return;
    this.#adminState = adminState;
    this.#options.onAdminState(adminState);
    if (adminState === 'standby') this.#standby.start();
    else this.#standby.stop();
    if (adminState === 'active') this.exchange.wake();
    else this.#intake.returnBuffer(`operator set ${adminState}`);
  }

  /** Gives back what has not started; the state no longer being open, nothing new is claimed. */
  drain(): void {
    this.#loneRun.close();
    this.#intake.returnBuffer('worker-stopping');
    this.#tick();
    this.exchange.poke();
  }

  /** What still runs after the grace is put back without it; its late result will be refused. */
  abandonRest(): void {
    for (const attempt of this.runner.attempts) {
      if (attempt.isAbandoned || attempt.abortCause === 'lease-lost') continue;
      attempt.isAbandoned = true;
      this.#results.putBack([attempt.job], 'worker-stopping');
    }
  }

  /** Sends the last results, until the signal fires. */
  async settleRest(signal: AbortSignal): Promise<void> {
    await this.exchange.drain(signal);
  }

  /** Says goodbye, in the time given. */
  async close(signal: AbortSignal, deadlineMs: number): Promise<void> {
    if (this.#status !== null) clearInterval(this.#status);
    this.#standby.stop();
    this.#knownQueues?.close();
    await this.exchange.close(signal);
    await Promise.all([this.#log.flushBeforeSettle(), this.#admission.close()]);
    await this.#watch?.[Symbol.asyncDispose]();
    this.#report();
    await Promise.all([
      this.link.stop(deadlineMs),
      ...this.#lanes.map((group) => group.stop({ deadlineMs })),
    ]);
    this.#options.pulse[Symbol.dispose]();
    this.runner.close();
  }

  #createAdmission(): Admission {
    const { host, membership, bounds, recycleAtBytes } = this.#options;
    const { storage, neighbours } = membership;
    return new Admission({
      settings: host.settings.admission,
      storage,
      neighbours,
      namesOf: namesByKind(host.definitions),
      kindOf: (name) => kindOf(host.definitions, name),
      endsAtMs: bounds.endsAtMs,
      recycleAtBytes,
      random: host.random ?? Math.random,
      logger: host.logger,
    });
  }

  #createPorts(): { readonly executor: Executor; readonly ports: LanePorts } {
    const renew = (attempt: Attempt): Promise<boolean> => this.#leases.renewNow(attempt);
    const context = contextPorts(this.#options, { log: this.#log, renew });
    const facts = executorFacts(this.#options, () => Math.round(Date.now() + this.#clockSkewMs));
    const executor = new Executor({ ...facts, ports: context });
    const onChange = (): void => this.#noteRoom();
    const onStep: LanePorts['onStep'] = (taken) => this.#steps.take(taken);
    return { executor, ports: lanePorts(this.#options, { facts, context, executor, onChange, onStep }) };
  }

  #createRunner(executor: Executor, ports: LanePorts): Runner {
    const { host, membership, inlineWidth, cap } = this.#options;
    return new Runner({
      ...ports,
      concurrency: inlineWidth,
      cap,
      lanes: this.#lanes,
      definitions: host.definitions,
      executor,
      storage: membership.storage,
      log: this.#log,
      onStart: (attempt) => this.#started(attempt),
      onEnd: (attempt, settlement) => this.#ended(attempt, settlement),
      onRoom: () => this.#noteRoom(),
      onUsage: (attempt, usage) => this.#admission.used(attempt, usage),
    });
  }

  #createSlots(): Slots {
    return new Slots({
      ...this.#options,
      lanes: this.#lanes,
      runner: this.runner,
      buffer: this.#buffer,
      depth: this.#depth,
      wantsFor: (kind) => this.#plan.wantsFor(kind),
      isBuffering: () => {
        const isGuarded = this.#admission.gate.isGuarded || this.#options.bounds.mostJobs !== null;
        return !isGuarded && this.#adminState !== 'standby';
      },
    });
  }

  #createPlan(): CreatedPlan {
    const { host, options, membership } = this.#options;
    return createPlan({
      selection: options.queues,
      storage: membership.storage,
      logger: host.logger,
      pollMs: host.settings.pollMs,
      kinds: ['inline', ...this.#lanes.map(({ kind }) => kind)],
      kindOf: (name) => kindOf(host.definitions, name),
      room: (kind) => this.#slots.room(kind),
      names: (kind) => this.#admission.gate.names(kind),
      isServing: (kind) => this.#slots.isServing(kind),
      isClosed: () => !this.#options.isOpen() || this.#isBarred || this.#slots.startsLeft <= 0,
      lone: () => {
        if (!this.#loneRun.isExclusive) return null;
        return this.#loneRun.wantsClaim ? 'claim' : 'wait';
      },
      onQueues: () => this.exchange.poke(),
    });
  }

  get #isBarred(): boolean {
    return this.#adminState === 'drain' || (this.#adminState === 'standby' && !this.#standby.isOpen);
  }

  #createExchange(): ExchangeLoop {
    const { host, options, membership, identity, onDown, onUp } = this.#options;
    return new ExchangeLoop({
      storage: membership.storage,
      outbox: this.#results.outbox,
      workerId: identity.id,
      incarnation: identity.incarnation,
      plan: this.#plan,
      found: this.#found,
      labels: options.labels,
      budgets: host.settings.budgets,
      leaseMs: host.settings.leaseMs,
      pollMs: host.settings.pollMs,
      logger: host.logger,
      random: Math.random,
      onClaimed: (jobs, claim, askedAtMs) => {
        this.#intake.claimed(jobs, claim, askedAtMs);
        if (jobs.length > 0) return;
        this.#standby.shut();
        this.#look();
      },
      onGiven: (jobs, isAlone, askedAtMs) => {
        this.#intake.given(jobs, isAlone, askedAtMs);
        this.exchange.poke();
      },
      onSettled: (entries, outcomes) => this.#results.settled(entries, outcomes),
      onAloneDue: () => this.#loneRun.noteDue(),
      onDown,
      onUp,
    });
  }

  #createIntake(): Intake {
    return new Intake({
      ...this.#options,
      buffer: this.#buffer,
      depth: this.#depth,
      slots: this.#slots,
      admission: this.#admission,
      runner: this.runner,
      results: this.#results,
      loneRun: this.#loneRun,
      hasLanes: this.#lanes.length > 0,
      adminState: () => this.#adminState,
    });
  }

  #createLeases(): LeaseWatch {
    return new LeaseWatch({
      ...this.#options,
      buffer: this.#buffer,
      runner: this.runner,
      results: this.#results,
      intake: this.#intake,
      isExchanging: () => this.exchange.isBusy,
    });
  }

  #createStandby(): StandbyGate {
    const { host } = this.#options;
    return new StandbyGate({
      pollMs: host.settings.pollMs,
      look: () => this.exchange.isWorkDue(),
      onOpen: () => this.exchange.wake(),
      logger: host.logger,
    });
  }

  #listener(): HubLinkListener {
    const { host, identity, ...told } = this.#options;
    return {
      onRegistered: (adminState) => {
        host.logger.debug('registered again', { worker: identity.id, adminState });
      },
      onSnapshot: (snapshot) => this.#leases.take(snapshot),
      onClockSkew: (skewMs) => {
        this.#clockSkewMs = skewMs;
      },
      onAdminState: (adminState) => this.noteAdminState(adminState),
      onRecycleAsked: () => told.onRecycleAsked(),
      onLog: (level, message, fields) => host.logger[level](message, fields),
      onPaused: (paused) => this.#intake.returnPaused(paused),
      onStopAsked: (leases) => this.#leases.stop(leases),
      onLinkLost: (text, waitMs) => told.onLinkLost(text, waitMs),
      onLinkRestored: () => told.onLinkRestored(),
      onSuperseded: () => told.onSuperseded(),
      held: () => this.#leases.held(),
    };
  }

  #started({ job }: Attempt): void {
    const { host, identity } = this.#options;
    if (host.events.listenerCount('job:started') === 0) return;
    const { id, name, queue, attempts } = job;
    host.events.emit('job:started', { id, name, queue, attempt: attempts + 1, workerId: identity.id });
  }

  #ended(attempt: Attempt, settlement: Settlement | null): void {
    const durationMs = monotonicMs() - attempt.startedAtMs;
    this.#depth.observe(durationMs);
    this.#admission.ended(attempt, settlement, durationMs);
    this.#results.ended(attempt, settlement, durationMs);
  }

  #noteRoom(): void {
    this.#intake.fill();
    this.exchange.poke();
    this.#look();
  }

  /** At the end of the tick, when nothing runs any more: who waits for that is told. */
  #look(): void {
    if (this.runner.size > 0 || this.#isLookScheduled) return;
    this.#isLookScheduled = true;
    setImmediate(() => {
      this.#isLookScheduled = false;
      this.#loneRun.noteRoom();
      this.#options.onChange();
    });
  }

  /** A hub finds the jobs of its workers, and counts that itself. */
  #createMeter(): FoundMeter {
    const { host, membership } = this.#options;
    const { capabilities, standing } = membership.storage;
    return new FoundMeter({
      pollMs: host.settings.pollMs,
      hasPush: capabilities.push && standing === undefined,
      databaseNow: () => Date.now() + this.#clockSkewMs,
    });
  }

  #tick(): void {
    this.#options.usage.tick();
    this.#options.lanesWatch.tick();
    this.#alarms.set('slots-overrun', this.#slotWatch.look());
    this.#alarms.set('own-memory', this.#admission.ownStrain);
    this.#alarms.set('polls-alone', this.#found.alarm);
    this.#alarms.set('disk-full', this.#diskAlarm());
    this.#report();
    this.#options.onTick();
    void this.#admission.refresh();
    // Names that were held may be let go by now, of which no exchange tells.
    this.exchange.poke();
    if (this.#options.isOpen()) void this.exchange.peekIfStale(statusEveryMs);
    this.#look();
  }

  #diskAlarm(): string | null {
    const told = this.#options.laneSources.map(({ diskAlarm }) => diskAlarm?.() ?? null);
    return told.find((sentence) => sentence !== null) ?? null;
  }

  #report(): void {
    const status = lifeReport(this.#options, {
      runner: this.runner,
      lanes: this.#lanes,
      isServing: (kind: LaneKind) => this.#slots.isServing(kind),
      notAdmitted: this.#admission.gate.held,
      details: {
        buffered: this.#buffer.size,
        unacknowledged: this.unacknowledged,
        found: this.#found.counts,
        denied: this.#admission.denied,
        laneSteps: this.#steps.counts,
        alarms: this.#alarms.standing,
      },
    });
    this.link.report(status);
  }
}
