/**
 * Everything that exists between a start and a stop of a worker, wired together: slots, buffer, outbox, exchange loop,
 * link. Here stands what follows from what; each part knows only its own business.
 */
import type { LaneKind } from '../core/lane-kind.js';
import type { ClaimedJob, HeldLease, Lease } from '../storage/claimed-job.js';
import type { Settlement, SettleOutcome } from '../storage/settlement.js';
import type { AdminState } from '../storage/worker-record.js';
import { Admission } from './admission/admission.js';
import type { Attempt } from './attempt.js';
import type { ContextPorts } from './attempt-context.js';
import { AttemptLog } from './attempt-log.js';
import { Buffer, type BufferedJob } from './buffer.js';
import { BufferDepth } from './buffer-depth.js';
import type { ClaimPlan, PlannedClaim } from './claims/claim-plan.js';
import { type CreatedPlan, createPlan } from './claims/create-plan.js';
import { interleave } from './claims/interleave.js';
import type { KnownQueues } from './claims/known-queues.js';
import type { Room } from './claims/queue-order.js';
import { inlineRoom, laneRoom } from './claims/rooms.js';
import { ExchangeLoop } from './exchange-loop.js';
import { Executor, type ExecutorOptions } from './executor.js';
import type { WorkerHost } from './host.js';
import type { Membership } from './join/join.js';
import { inlineLane, laneReport } from './lane-reports.js';
import type { LanePorts, LaneSource } from './lanes/lane.js';
import { LaneGroup } from './lanes/lane-group.js';
import { LeaseAudit } from './lease-audit.js';
import type { HubLinkListener } from './link/hub/hub-link.js';
import type { Link, LinkSnapshot, WorkerIdentity, WorkerStatus } from './link/link.js';
import { LoneRun } from './lone-run.js';
import { monotonicMs } from './monotonic.js';
import { Outbox, type OutboxEntry } from './outbox.js';
import type { RunBounds } from './run-bounds.js';
import { Runner } from './runner.js';
import type { SettledCounts } from './settled-counts.js';
import { emitSettled } from './settled-events.js';
import { logSettled } from './settled-log.js';
import { StandbyGate } from './standby-gate.js';
import type { UsageMeter } from './usage-meter.js';
import type { LoopPulse } from './watchdog/loop-pulse.js';
import type { ResolvedWorkerOptions } from './worker-options.js';

export interface LifeOptions {
  readonly host: WorkerHost;
  readonly options: ResolvedWorkerOptions;
  readonly membership: Membership;
  readonly pulse: LoopPulse;
  readonly identity: WorkerIdentity;
  readonly counts: SettledCounts;
  /** Inline slots. */
  readonly inlineWidth: number;
  /** The other kinds of lanes. */
  readonly laneSources: readonly LaneSource[];
  /** Most jobs at once over all kinds; null: what the slots of each kind allow. */
  readonly cap: number | null;
  readonly bounds: RunBounds;
  /** Claims may be made. */
  readonly isOpen: () => boolean;
  readonly lifecycle: () => Pick<WorkerStatus, 'state' | 'transitions' | 'drain'>;
  readonly usage: UsageMeter;
  readonly onAdminState: (adminState: AdminState) => void;
  readonly onRecycleAsked: () => void;
  /** Every second. */
  readonly onTick: () => void;
  /** Storage did not answer. */
  readonly onDown: (error: unknown, waitMs: number) => void;
  readonly onUp: () => void;
  /** The connection to the hub, where there is one. */
  readonly onLinkLost: (text: string, waitMs: number) => void;
  readonly onLinkRestored: () => void;
  readonly onSuperseded: () => void;
  /** Something ended: a slot is free, a result acknowledged. */
  readonly onChange: () => void;
}

const statusEveryMs = 1_000;
const makesRoom = 'makes room for a job that must run alone';

export class WorkerLife {
  readonly runner: Runner;
  readonly exchange: ExchangeLoop;
  readonly link: Link;
  readonly #options: LifeOptions;
  readonly #plan: ClaimPlan;
  readonly #knownQueues: KnownQueues | null;
  readonly #lanes: readonly LaneGroup[];
  readonly #admission: Admission;
  readonly #buffer: Buffer;
  readonly #outbox = new Outbox();
  readonly #depth: BufferDepth;
  readonly #log: AttemptLog;
  readonly #executor: Executor;
  readonly #loneRun: LoneRun;
  readonly #pulse: LoopPulse;
  readonly #standby: StandbyGate;
  #watch: AsyncDisposable | null = null;
  #status: NodeJS.Timeout | null = null;
  #adminState: AdminState = 'active';
  #clockSkewMs = 0;
  #starts = 0;
  #isLookScheduled = false;

  constructor(options: LifeOptions) {
    this.#options = options;
    const { host } = options;
    const { queues } = options.options;
    this.#buffer = new Buffer(queues.order === 'strict' ? queues.queues : null);
    this.#depth = new BufferDepth(options.inlineWidth);
    this.#log = new AttemptLog(options.membership.storage, host.logger);
    this.#admission = this.#createAdmission();
    const context = this.#contextPorts();
    this.#executor = new Executor({ ...this.#executorFacts(), ports: context });
    const ports = this.#lanePorts(context);
    this.#lanes = options.laneSources.map((source) => new LaneGroup(source.kind, source.create(ports)));
    this.runner = this.#createRunner(ports);
    const { plan, knownQueues } = this.#createPlan();
    this.#plan = plan;
    this.#knownQueues = knownQueues;
    this.exchange = this.#createExchange();
    this.#loneRun = new LoneRun({
      random: Math.random,
      isEmpty: () => this.#holdsNothing && !this.exchange.isBusy,
      returnBuffer: () => this.returnBuffer(makesRoom),
      poke: () => this.exchange.wake(),
    });
    this.#standby = new StandbyGate({
      pollMs: host.settings.pollMs,
      look: () => this.exchange.isWorkDue(),
      onOpen: () => this.exchange.wake(),
      logger: host.logger,
    });
    this.#pulse = options.pulse;
    this.link = options.membership.createLink(this.#listener());
  }

  get isIdle(): boolean {
    if (this.#holdsNothing && this.#startsLeft <= 0) return true;
    const isStarting = this.#lanes.some(({ starting }) => starting > 0);
    return this.#holdsNothing && !isStarting && this.#plan.isEmpty && !this.#loneRun.isExclusive;
  }

  get unacknowledged(): number {
    return this.#outbox.size;
  }

  /** Everything that it took is settled, and acknowledged; handlers that ignore their signal may still go on. */
  get isDone(): boolean {
    const isLeft = [...this.runner.attempts].some(({ isAbandoned }) => !isAbandoned);
    return !isLeft && this.#buffer.size === 0 && this.#outbox.size === 0 && !this.exchange.isBusy;
  }

  get #holdsNothing(): boolean {
    return this.runner.size === 0 && this.#buffer.size === 0 && this.#outbox.size === 0;
  }

  /** Side by side; resolves once each lane takes work or is known not to. */
  async startLanes(): Promise<void> {
    await Promise.all(this.#lanes.map((group) => group.start()));
  }

  /** Begins to take jobs. */
  async open(): Promise<void> {
    this.runner.open();
    this.#pulse.start();
    this.#knownQueues?.open();
    await Promise.all([this.#admission.open(), this.lookForQueues()]);
    this.#status = setInterval(() => this.#tick(), statusEveryMs);
    // What waits already needs no wake-up, for which a server makes a connection of its own first.
    this.exchange.wake();
    this.#watch = await this.#options.membership.storage.watch((queues) => {
      if (queues === null) void this.#knownQueues?.refresh();
      else this.#knownQueues?.note(queues);
      this.exchange.wake(queues);
    });
    this.#tick();
    this.exchange.wake();
  }

  /** Where all queues are served: looks which there are. */
  async lookForQueues(): Promise<void> {
    await this.#knownQueues?.refresh();
  }

  /** Gives back what has not started; the state no longer being open, nothing new is claimed. */
  drain(): void {
    this.#loneRun.close();
    this.returnBuffer('worker-stopping');
    this.#tick();
    this.exchange.poke();
  }

  /** What still runs after the grace is put back without it; its late result will be refused. */
  abandonRest(): void {
    for (const attempt of this.runner.attempts) {
      if (attempt.isAbandoned || attempt.abortCause === 'lease-lost') continue;
      attempt.isAbandoned = true;
      this.#putBack([attempt.job], 'worker-stopping');
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
    this.#pulse[Symbol.dispose]();
    this.runner.close();
  }

  returnBuffer(reason: string): void {
    const unstarted = this.#buffer.remove(() => true).map(({ job }) => job);
    this.#putBack(unstarted, reason);
  }

  #contextPorts(): ContextPorts {
    const { host, membership } = this.#options;
    const { storage } = membership;
    return {
      log: (line) => this.#log.add(line),
      dispatch: membership.dispatch,
      renew: (attempt) => this.#renewNow(attempt),
      settleIn: async (tx, settlement) => (await storage.within(tx)).settle(settlement),
      settleInSync: (tx, settlement) => storage.withinSync(tx).settle(settlement),
      wasSettled: async ({ job }) => (await storage.endings([job.id]))[0]?.status === 'completed',
      maxPayloadBytes: host.settings.maxPayloadBytes,
      logger: host.logger,
    };
  }

  #executorFacts(): Omit<ExecutorOptions, 'ports'> {
    const { host, identity } = this.#options;
    return {
      workerId: identity.id,
      maxPayloadBytes: host.settings.maxPayloadBytes,
      random: host.random ?? Math.random,
      now: () => Math.round(Date.now() + this.#clockSkewMs),
    };
  }

  #lanePorts(context: ContextPorts): LanePorts {
    const { host, membership } = this.#options;
    return {
      ...this.#executorFacts(),
      context,
      run: (attempt, added) => this.#executor.run(attempt, added),
      enqueue: (jobs) => membership.storage.enqueue(jobs),
      killGraceMs: host.settings.killGraceMs,
      logger: host.logger,
      onChange: () => this.#noteRoom(),
    };
  }

  #createAdmission(): Admission {
    const { host, membership, bounds } = this.#options;
    const { storage, neighbours } = membership;
    return new Admission({
      settings: host.settings.admission,
      storage,
      neighbours,
      namesOf: namesByKind(host.definitions),
      kindOf: (name) => this.#kindOf(name),
      endsAtMs: bounds.endsAtMs,
      random: host.random ?? Math.random,
      logger: host.logger,
    });
  }

  #createRunner(ports: LanePorts): Runner {
    const { host, membership, inlineWidth } = this.#options;
    return new Runner({
      ...ports,
      concurrency: inlineWidth,
      cap: this.#options.cap,
      lanes: this.#lanes,
      definitions: host.definitions,
      executor: this.#executor,
      storage: membership.storage,
      log: this.#log,
      onStart: (attempt) => this.#started(attempt),
      onEnd: (attempt, settlement) => this.#ended(attempt, settlement),
      onRoom: () => this.#noteRoom(),
      onUsage: (attempt, usage) => this.#admission.used(attempt, usage),
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
      kindOf: (name) => this.#kindOf(name),
      room: (kind) => this.#room(kind),
      names: (kind) => this.#admission.gate.names(kind),
      isServing: (kind) => this.#isServing(kind),
      isClosed: () => {
        const isBarred =
          this.#adminState === 'drain' || (this.#adminState === 'standby' && !this.#standby.isOpen);
        return !this.#options.isOpen() || isBarred || this.#startsLeft <= 0;
      },
      lone: () => {
        if (!this.#loneRun.isExclusive) return null;
        return this.#loneRun.wantsClaim ? 'claim' : 'wait';
      },
      onQueues: () => this.exchange.poke(),
    });
  }

  #createExchange(): ExchangeLoop {
    const { host, options, membership, identity, onDown, onUp } = this.#options;
    return new ExchangeLoop({
      storage: membership.storage,
      outbox: this.#outbox,
      workerId: identity.id,
      incarnation: identity.incarnation,
      plan: this.#plan,
      labels: options.labels,
      budgets: host.settings.budgets,
      leaseMs: host.settings.leaseMs,
      pollMs: host.settings.pollMs,
      logger: host.logger,
      random: Math.random,
      onClaimed: (jobs, claim, askedAtMs) => this.#claimed(jobs, claim, askedAtMs),
      onGiven: (jobs, isAlone, askedAtMs) => this.#given(jobs, isAlone, askedAtMs),
      onSettled: (entries, outcomes) => this.#settled(entries, outcomes),
      onAloneDue: () => this.#loneRun.noteDue(),
      onDown,
      onUp,
    });
  }

  #listener(): HubLinkListener {
    const { host, identity } = this.#options;
    const audit = new LeaseAudit({
      buffer: this.#buffer,
      attempts: this.runner.attempts,
      settling: () => this.#outbox.ids(),
      isExchanging: () => this.exchange.isBusy,
      abort: (attempt, cause) => void this.runner.abortUnlessSettled(attempt, cause),
      cancelBuffered: ({ job }) =>
        this.#send({ id: job.id, token: job.token, kind: 'cancelled', reason: 'operator' }, job),
      dropBuffered: ({ job }) =>
        host.logger.warn('a buffered job was taken from this worker', { job: job.id, name: job.name }),
      putBackOrphan: (lease) =>
        this.#send({ ...lease, kind: 'put-back', delayMs: 0, reason: 'its worker did not know of it' }, null),
    });
    return {
      onRegistered: (adminState) => {
        host.logger.debug('registered again', { worker: identity.id, adminState });
      },
      onSnapshot: (snapshot) => this.#takeSnapshot(audit, snapshot),
      onClockSkew: (skewMs) => {
        this.#clockSkewMs = skewMs;
      },
      onAdminState: (adminState) => this.noteAdminState(adminState),
      onRecycleAsked: () => this.#options.onRecycleAsked(),
      onLog: (level, message, fields) => host.logger[level](message, fields),
      onPaused: (paused) => this.#notePaused(paused),
      onStopAsked: (leases) => audit.stop(leases),
      onLinkLost: (text, waitMs) => this.#options.onLinkLost(text, waitMs),
      onLinkRestored: () => this.#options.onLinkRestored(),
      onSuperseded: () => this.#options.onSuperseded(),
      held: () => this.#held(),
    };
  }

  /** All that it runs, keeps for starting, or has a result of that is not acknowledged. */
  #held(): Lease[] {
    const held = new Map<string, Lease>();
    const add = ({ id, token }: Lease): void => void held.set(id, { id, token });
    for (const { job, isAbandoned, abortCause } of this.runner.attempts)
      if (!isAbandoned && abortCause !== 'lease-lost') add(job);
    for (const { job } of this.#buffer) add(job);
    for (const lease of this.#outbox.leases()) add(lease);
    return [...held.values()];
  }

  /** What operators want: a drain is the lifecycle's, standby is a matter of claims. */
  noteAdminState(adminState: AdminState): void {
    if (this.#adminState === adminState) return;
    this.#adminState = adminState;
    this.#options.onAdminState(adminState);
    if (adminState === 'standby') this.#standby.start();
    else this.#standby.stop();
    if (adminState === 'active') this.exchange.wake();
    else this.returnBuffer(`operator set ${adminState}`);
  }

  #takeSnapshot(audit: LeaseAudit, snapshot: LinkSnapshot): void {
    audit.take(snapshot);
    if (snapshot.isRenewal) this.#buffer.renew(snapshot.held, snapshot.askedAtMs);
    if (this.#buffer.size === 0) return;
    this.#notePaused(snapshot.paused);
    if (this.#options.isOpen() && this.#loneRun.mayFill) this.#fill();
  }

  #notePaused(names: readonly string[]): void {
    if (names.length === 0 || this.#buffer.size === 0) return;
    const paused = new Set(names);
    const unstarted = this.#buffer.remove(({ job }) => paused.has(job.queue)).map(({ job }) => job);
    this.#putBack(unstarted, 'queue paused');
  }

  /** What fits into the slots of a kind now; the one place that decides it. Lanes go first where a cap is shared. */
  #room(kind: LaneKind): Room | null {
    const capped = (this.#options.cap ?? Number.POSITIVE_INFINITY) - this.runner.size;
    const left = Math.min(capped, this.#startsLeft);
    if (kind !== 'inline')
      return laneRoom(Math.min(this.#groupOf(kind)?.free ?? 0, left - this.#buffer.size));
    const forLanes = this.#lanes.filter(({ kind: other }) => this.#plan.wantsFor(other));
    const free = Math.min(this.runner.free, left - sum(forLanes.map((group) => group.free)));
    const isGuarded = this.#admission.gate.isGuarded || this.#options.bounds.mostJobs !== null;
    const isStandby = this.#adminState === 'standby';
    const target = isGuarded || isStandby ? 0 : this.#depth.target(monotonicMs());
    return inlineRoom({ free, buffered: this.#buffer.size, target });
  }

  #claimed(jobs: readonly ClaimedJob[], claim: PlannedClaim, askedAtMs: number): void {
    this.runner.supersede(jobs);
    const inline = this.#startInLanes(claim.takes.length > 1 ? interleave(jobs) : jobs, askedAtMs);
    if (claim.alone) this.#loneRun.noteClaimed(jobs.length);
    else if (inline.length > 0 && inline.length >= inlineLimit(claim)) this.#depth.grow();
    this.#keep(inline, jobs, askedAtMs);
    if (jobs.length === 0) {
      this.#standby.shut();
      this.#look();
    }
  }

  /** What a hub gave by itself, for room that stood. */
  #given(jobs: readonly ClaimedJob[], isAlone: boolean, askedAtMs: number): void {
    this.runner.supersede(jobs);
    const inline = this.#startInLanes(jobs, askedAtMs);
    if (isAlone) this.#loneRun.noteClaimed(jobs.length);
    const isBeside = this.#loneRun.isExclusive && !isAlone;
    if (isBeside) this.#putBack(inline, makesRoom);
    else this.#keep(inline, jobs, askedAtMs);
    if (this.#adminState === 'drain') this.returnBuffer('operator set drain');
    this.exchange.poke();
  }

  #keep(inline: readonly ClaimedJob[], all: readonly ClaimedJob[], askedAtMs: number): void {
    this.#buffer.add(inline, { claimedAtMs: monotonicMs(), askedAtMs });
    if (all.some((job) => this.#isBounded(job))) this.#depth.holdOff(monotonicMs());
    if (!this.#options.isOpen()) this.returnBuffer('worker-stopping');
    else if (this.#loneRun.mayFill) this.#fill();
    else this.returnBuffer(makesRoom);
  }

  /** Storage gives it only to be started at once. */
  #isBounded({ queue, limit, cost, requires }: ClaimedJob): boolean {
    if (limit !== null || cost !== 1 || requires.length > 0) return true;
    return Object.hasOwn(this.#options.host.settings.budgets.queues, queue);
  }

  /** Starts those that have lanes of their own; answers with the others. */
  #startInLanes(jobs: readonly ClaimedJob[], askedAtMs: number): readonly ClaimedJob[] {
    if (this.#lanes.length === 0) return jobs;
    const inline: ClaimedJob[] = [];
    for (const job of jobs) {
      if (this.#kindOf(job.name) === 'inline') inline.push(job);
      else if (!this.#options.isOpen()) this.#putBack([job], 'worker-stopping');
      else if (!this.#isSureSince(askedAtMs)) this.#putBack([job], 'the claim was answered too late');
      else if (this.runner.hasSlotFor(job)) {
        if (this.#admits(job)) this.runner.start({ job, claimedAtMs: monotonicMs(), askedAtMs });
      } else this.#putBack([job], 'its lane was lost before it could start');
    }
    return inline;
  }

  /**
   * A worker that was frozen, or was answered late, can't know whether its leases still hold: nothing is started until a
   * renewal has told which do.
   */
  #fill(): void {
    if (this.#buffer.size > 0) this.runner.fill(this.#buffer, this.#isSure, this.#admitsInline);
  }

  readonly #isSure = ({ askedAtMs }: BufferedJob): boolean => this.#isSureSince(askedAtMs);

  readonly #admitsInline = (job: ClaimedJob): boolean => {
    if (!this.#admission.gate.isCalm) return this.#admits(job);
    this.#starts += 1;
    return true;
  };

  /** Whether a lease that was asked for then, or renewed for the last time, has surely not lapsed. */
  #isSureSince(askedAtMs: number): boolean {
    return monotonicMs() - askedAtMs < this.#options.membership.leaseMs();
  }

  /** Whether it may start; else it is put back, with the reason for `why`. */
  #admits(job: ClaimedJob): boolean {
    const decision = this.#admission.judge(job.name, this.runner.size === 0);
    if (decision.admit) {
      this.#starts += 1;
      return true;
    }
    const { id, token } = job;
    const random = this.#options.host.random ?? Math.random;
    const delayMs = Math.round(decision.retryInMs * (1 + random()));
    this.#send({ id, token, kind: 'put-back', delayMs, reason: `not-admitted: ${decision.sentence}` }, job);
    return false;
  }

  #kindOf(name: string): LaneKind {
    return this.#options.host.definitions.get(name)?.lane ?? 'inline';
  }

  #isServing(kind: LaneKind): boolean {
    return (kind === 'inline' ? this.#options.inlineWidth : (this.#groupOf(kind)?.size ?? 0)) > 0;
  }

  #groupOf(kind: LaneKind): LaneGroup | undefined {
    return this.#lanes.find((group) => group.kind === kind);
  }

  /** How many jobs may still be started in this run. */
  get #startsLeft(): number {
    return (this.#options.bounds.mostJobs ?? Number.POSITIVE_INFINITY) - this.#starts;
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
    if (settlement === null) this.#options.counts.add('lease-lost');
    else if (attempt.isSettled) this.#settled([{ settlement, job: attempt.job, durationMs }], ['done']);
    else this.#send(settlement, attempt.job, durationMs);
  }

  #noteRoom(): void {
    if (this.#options.isOpen() && this.#loneRun.mayFill) this.#fill();
    this.exchange.poke();
    this.#look();
  }

  #settled(entries: readonly OutboxEntry[], outcomes: readonly SettleOutcome[]): void {
    const { host, counts, identity } = this.#options;
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index] as OutboxEntry;
      const outcome = outcomes[index];
      if (outcome === 'done') {
        counts.add(entry.settlement.kind);
        emitSettled(host.events, entry, identity.id);
        logSettled(host.logger, entry);
      } else {
        counts.add('lease-lost');
        const { id, kind } = entry.settlement;
        host.logger.warn('a result was refused: this worker no longer held the lease', {
          job: id,
          kind,
          outcome,
        });
      }
    }
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

  #send(settlement: Settlement, job: ClaimedJob | null, durationMs = 0): void {
    this.#outbox.add({ settlement, job, durationMs });
    this.exchange.poke();
  }

  #putBack(jobs: readonly ClaimedJob[], reason: string): void {
    for (const job of jobs) {
      this.#send({ id: job.id, token: job.token, kind: 'put-back', delayMs: 0, reason }, job);
    }
  }

  #tick(): void {
    this.#options.usage.tick();
    this.#report();
    this.#options.onTick();
    void this.#admission.refresh();
    // Names that were held may be let go by now, of which no exchange tells.
    this.exchange.poke();
    if (this.#options.isOpen()) void this.exchange.peekIfStale(statusEveryMs);
    this.#look();
  }

  #report(): void {
    const { lifecycle, usage, counts } = this.#options;
    this.link.report({
      ...lifecycle(),
      running: this.runner.size,
      lanes: [
        inlineLane({
          attempts: this.runner.attempts,
          width: this.#options.inlineWidth,
          jobsDone: counts.ended,
        }),
        ...this.#lanes.flatMap((group) => group.snapshots().map(laneReport)),
      ],
      jobsDone: counts.ended,
      usage: usage.read(this.#pulse.peakLagMs),
      details: { buffered: this.#buffer.size, unacknowledged: this.#outbox.size, ...this.#barred() },
    });
  }

  /** Handlers whose jobs do not start here for now, for `why`; nothing where all do. */
  #barred(): Record<string, Record<string, string>> {
    const notAdmitted = this.#admission.gate.held;
    const kinds = [...this.#options.host.definitions].map(([name, { lane }]) => [name, lane] as const);
    const withoutLane = Object.fromEntries(kinds.filter(([, kind]) => !this.#isServing(kind)));
    return {
      ...(Object.keys(notAdmitted).length === 0 ? {} : { notAdmitted }),
      ...(Object.keys(withoutLane).length === 0 ? {} : { withoutLane }),
    };
  }

  async #renewNow(attempt: Attempt): Promise<boolean> {
    const { membership, identity, host } = this.#options;
    let held: readonly HeldLease[];
    try {
      held = await membership.storage.renew(identity.incarnation, host.settings.leaseMs);
    } catch (error) {
      // Storage that does not answer is no verdict on the lease, and no failure of the handler that asked.
      host.logger.debug('the lease of a job could not be renewed now', { job: attempt.job.id, error });
      return attempt.abortCause === null;
    }
    const isHeld = held.some(({ id, token }) => id === attempt.job.id && token === attempt.job.token);
    if (!isHeld) this.runner.abort(attempt, 'lease-lost');
    return isHeld;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

function inlineLimit({ parts }: PlannedClaim): number {
  return sum(parts.filter(({ of }) => of.kind === 'inline').map(({ part }) => part.limit));
}

function namesByKind(definitions: WorkerHost['definitions']): Map<LaneKind, string[]> {
  const names = new Map<LaneKind, string[]>();
  for (const [name, { lane }] of definitions) names.set(lane, [...(names.get(lane) ?? []), name]);
  return names;
}
