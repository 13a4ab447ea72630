/**
 * The worker's traffic with storage: results go out, jobs come in, one exchange at a time over one connection.
 *
 * - A claim goes at once when a slot is idle or the buffer is half empty; results that wait go with it. Where there are
 *   results it waits for those of attempts that end at the same moment, so that one claim goes for all their slots. Results
 *   alone go at the end of the tick, so that those of one tick share a commit. While an exchange is under way all gather.
 * - Once claims have brought less than they asked for the worker is *dry* (`claims/claim-plan.ts`): then only a wake-up, the
 *   poll timer, or results on their way (which carry a claim along, since they may have released what follows) claim again.
 *   No loop can spin.
 * - On a hub link what a claim leaves stands with the hub, which fills it by itself (`accept`). A dry worker then neither
 *   polls nor looks; it tells its room anew where that has changed by more than what came (`claims/told-room.ts`), takes it
 *   back where nothing may come, and repeats itself now and then for the case that both ends differ.
 * - A failed exchange is repeated as it was, same settlements and same token, until storage answers: that is what makes
 *   "wrote, then the connection died" harmless. Waits between tries are jittered, at most 15 s, and never end by count.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { aborted } from '../internal/aborted.js';
import { isMillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import type { ClaimedJob, ClaimRequest } from '../storage/claimed-job.js';
import type { Budgets } from '../storage/job-limit.js';
import type { Settlement, SettleOutcome } from '../storage/settlement.js';
import type { WorkerStorage } from '../storage/worker-storage.js';
import type { ClaimPlan, PlannedClaim } from './claims/claim-plan.js';
import { ToldRoom } from './claims/told-room.js';
import type { FoundMeter, WakeCause } from './health/found-meter.js';
import { monotonicMs } from './monotonic.js';
import type { Outbox, OutboxEntry } from './outbox.js';
import { settleOneByOne } from './settle-one-by-one.js';

export interface ExchangeLoopOptions {
  readonly storage: WorkerStorage;
  readonly outbox: Outbox;
  readonly workerId: string;
  readonly incarnation: string;
  /** What to claim. */
  readonly plan: ClaimPlan;
  readonly found: Pick<FoundMeter, 'pushed' | 'found'>;
  readonly labels: readonly string[];
  readonly budgets: Budgets;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly logger: Logger;
  readonly random: () => number;
  /** With the moment before storage was first asked, monotonic ms: the leases are no older. */
  readonly onClaimed: (jobs: readonly ClaimedJob[], claim: PlannedClaim, askedAtMs: number) => void;
  readonly onSettled: (entries: readonly OutboxEntry[], outcomes: readonly SettleOutcome[]) => void;
  /** Jobs came by themselves. `isAlone`: for a want of one that runs alone. */
  readonly onGiven: (jobs: readonly ClaimedJob[], isAlone: boolean, askedAtMs: number) => void;
  readonly onAloneDue: () => void;
  /** Storage did not answer; it is asked again in `waitMs`. */
  readonly onDown: (error: unknown, waitMs: number) => void;
  readonly onUp: () => void;
}

const settleBatch = 1_000;
const maxBackoffMs = 15_000;
const firstBackoffMs = 100;
/** Without wake-ups by the engine polling starts here after work was seen and grows to `pollMs`. */
const firstPollMs = 5;
const pollGrowth = 1.3;
const peekEveryMs = 250;
/** Room that stands is told again so often, whether or not it has changed. */
const standingRepeatMs = 30_000;

export class ExchangeLoop {
  readonly #options: ExchangeLoopOptions;
  #claims = 0;
  /** What ended a time without anything to take; `other` while there is none such. */
  #cause: WakeCause = 'other';
  #current: Promise<void> | null = null;
  #scheduled: NodeJS.Immediate | null = null;
  #timer: NodeJS.Timeout | null = null;
  #timerAtMs = 0;
  #peekTimer: NodeJS.Timeout | null = null;
  #adaptivePollMs = firstPollMs;
  #peekedAtMs = Number.NEGATIVE_INFINITY;
  #wentThisTick = false;
  #isGoing = false;
  #isClosed = false;
  readonly #closing = new AbortController();
  /** Ends the wait for the next try. */
  #hasten: (() => void) | null = null;
  /** Null: room does not stand on this link. */
  readonly #told: ToldRoom | null;

  constructor(options: ExchangeLoopOptions) {
    this.#options = options;
    const { standing } = options.storage;
    this.#told = standing === undefined ? null : new ToldRoom();
    standing?.listen({
      onAssigned: (jobs, askedAtMs) => this.#accept(jobs, askedAtMs),
      onAloneDue: () => options.onAloneDue(),
      onOpen: () => this.#reopened(),
      onLost: () => this.#told?.forget(),
    });
  }

  get isBusy(): boolean {
    return this.#current !== null;
  }

  /** Something changed that may let an exchange go: a slot, a result, room. */
  poke(): void {
    if (this.#isClosed || this.#current !== null) return;
    const { plan, outbox } = this.#options;
    // Called for each attempt that ends: what is cheap is asked first.
    if (!this.#wentThisTick && plan.wants) this.#goWith(outbox.waiting > 0);
    else if (this.#scheduled !== null) return;
    else if (this.#told !== null || outbox.waiting > 0 || plan.wants) this.#schedule();
  }

  /** New jobs may be there, in these queues; null: in any. */
  wake(queues: readonly string[] | null = null): void {
    this.#wakeFor('other', queues);
  }

  /** The engine says so. */
  push(queues: readonly string[] | null): void {
    this.#options.found.pushed();
    this.#wakeFor('push', queues);
  }

  #wakeFor(cause: WakeCause, queues: readonly string[] | null): void {
    const { plan } = this.#options;
    if (plan.isDry) this.#cause = cause;
    if (cause === 'push' || cause === 'other') this.#adaptivePollMs = firstPollMs;
    plan.wake(queues);
    this.poke();
  }

  /** Sends what the outbox holds, and what a claim on its way still puts there, until it is empty or the signal fires. */
  async drain(signal: AbortSignal): Promise<void> {
    using over = aborted(signal);
    while ((this.#current !== null || this.#options.outbox.size > 0) && !signal.aborted) {
      if (this.#current === null) this.#go();
      // Nothing waits: what is still in flight was given up, and waiting for it here would never leave the tick.
      if (this.#current === null) return;
      await Promise.race([this.#current, over.fired]);
    }
  }

  /** Ends the waits; an exchange under way is not waited for longer than the signal allows. */
  async close(signal: AbortSignal): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    for (const timer of [this.#timer, this.#peekTimer]) if (timer !== null) clearTimeout(timer);
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    using over = aborted(signal);
    if (this.#current !== null) await Promise.race([this.#current, over.fired]);
  }

  /** Looks at what falls due next and sets the timer by it; asked by the loop itself when dry, and by the worker now and then when it never is. */
  async peek(): Promise<void> {
    const { storage, plan, labels, budgets, logger } = this.#options;
    this.#peekedAtMs = monotonicMs();
    const takes = plan.peek();
    if (takes.length === 0) return;
    try {
      const { dueInMs, aloneDue } = await storage.peek({ takes, labels, budgets });
      if (this.#isClosed) return;
      if (aloneDue) this.#options.onAloneDue();
      if (dueInMs !== null && plan.isDry) this.#wakeIn(Math.max(dueInMs, 1), 'due');
    } catch (error) {
      // Only a hint: the poll timer stands, and an exchange will find out about the database.
      logger.debug('could not look for the next due job', { error });
    }
  }

  /** Whether something waits that could run here this moment, whatever may be claimed. */
  async isWorkDue(): Promise<boolean> {
    const { storage, plan, labels, budgets } = this.#options;
    const takes = plan.peek();
    if (takes.length === 0) return false;
    return (await storage.peek({ takes, labels, budgets })).dueInMs === 0;
  }

  /** For a worker that is never dry and so would never look. */
  async peekIfStale(ms: number): Promise<void> {
    // A hub tells by itself of what must run alone.
    if (this.#told === null && monotonicMs() - this.#peekedAtMs >= ms) await this.peek();
  }

  /** Attempts that were started together and do nothing but answer end one microtask after the other. */
  #goWith(hasResults: boolean): void {
    if (!hasResults) {
      this.#go();
      return;
    }
    if (this.#isGoing) return;
    this.#isGoing = true;
    queueMicrotask(() => {
      this.#isGoing = false;
      if (!this.#isClosed && this.#current === null) this.#go();
    });
  }

  #schedule(): void {
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = null;
      if (this.#isClosed || this.#current !== null) return;
      if (this.#options.outbox.waiting > 0 || this.#options.plan.wants || this.#standing() !== null)
        this.#go();
    });
  }

  /** The door for what a hub gives by itself. */
  #accept(jobs: readonly ClaimedJob[], askedAtMs: number): void {
    const isAlone = this.#told?.isAlone ?? false;
    this.#told?.got(jobs);
    this.#options.found.found(jobs, 'push');
    this.#options.plan.noteGiven(jobs);
    this.#options.onGiven(jobs, isAlone, askedAtMs);
  }

  /** What waited for a connection goes at once, and the room is told, which is known nowhere now. */
  #reopened(): void {
    this.#told?.forget();
    this.#hasten?.();
    this.wake();
  }

  /** Room that stands, where the hub does not know it; null: it does, or none stands on this link. */
  #standing(): PlannedClaim | null {
    if (this.#told === null) return null;
    const claim = this.#options.plan.standing();
    return this.#told.differs(claim.takes) ? claim : null;
  }

  #go(): void {
    const entries = this.#options.outbox.take(settleBatch);
    const claim = this.#isClosed ? null : (this.#options.plan.next(entries.length > 0) ?? this.#standing());
    if (entries.length === 0 && claim === null) return;
    // An engine that answers within the tick must not keep timers and sockets from their turn.
    this.#wentThisTick = true;
    setImmediate(() => {
      this.#wentThisTick = false;
    });
    this.#current = this.#exchange(entries, claim)
      .catch((error: unknown) => {
        this.#options.logger.error('the exchange with storage failed in an unforeseen way', { error });
      })
      .finally(() => {
        this.#current = null;
        this.#schedule();
        if (this.#options.plan.isDry) this.#rest();
      });
  }

  async #exchange(entries: readonly OutboxEntry[], claim: PlannedClaim | null): Promise<void> {
    const request = claim === null ? null : this.#request(claim);
    const askedAtMs = monotonicMs();
    const answer = await this.#send(
      entries.map(({ settlement }) => settlement),
      request,
    );
    if (answer === null) return;
    this.#options.outbox.acknowledge();
    // Before what was claimed: a job that failed and is due again must not be seen to start before it was seen to fail.
    if (entries.length > 0) this.#options.onSettled(entries, answer.settled);
    if (claim !== null) {
      this.#told?.got(answer.claimed);
      this.#options.found.found(answer.claimed, this.#cause);
      this.#cause = 'other';
      this.#options.plan.learn(claim, answer.claimed);
      if (answer.claimed.length > 0) this.#adaptivePollMs = firstPollMs;
      if (claim.takes.length > 0) this.#options.onClaimed(answer.claimed, claim, askedAtMs);
    }
  }

  #request({ takes, alone }: PlannedClaim): ClaimRequest {
    const { workerId, incarnation, labels, budgets, leaseMs } = this.#options;
    this.#claims += 1;
    const token = incarnation + this.#claims.toString(16).padStart(16, '0');
    return { token, workerId, leaseMs, takes, labels, budgets, alone };
  }

  /** Null: closed before storage answered. */
  async #send(
    settlements: readonly Settlement[],
    request: ClaimRequest | null,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] } | null> {
    try {
      return await this.#untilAnswered(() => this.#once(settlements, request), settlements.length > 0);
    } catch (error) {
      return await this.#salvage(settlements, error);
    }
  }

  /** Repeats a call while that may help. Null: closed before storage answered. Rejects with what waiting can't cure. */
  async #untilAnswered<T>(call: () => Promise<T>, hasResults = true): Promise<T | null> {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await call();
        if (tries > 0) this.#options.onUp();
        return answer;
      } catch (error) {
        if (!isMillraceError(error) || !error.retryable) throw error;
        const waitMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** tries) * this.#options.random();
        this.#options.onDown(error, waitMs);
        await this.#pause(waitMs);
        if (this.#isClosed && !hasResults) return null;
        if (this.#closing.signal.aborted && tries > 0) return null;
      }
    }
  }

  /** Until the time is over, a connection is there again, or the loop is closed. */
  async #pause(ms: number): Promise<void> {
    const hastened = new AbortController();
    this.#hasten = () => hastened.abort();
    const signal = AbortSignal.any([this.#closing.signal, hastened.signal]);
    await delay(ms, undefined, { signal }).catch(() => undefined);
    this.#hasten = null;
  }

  async #once(
    settlements: readonly Settlement[],
    request: ClaimRequest | null,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    const { storage } = this.#options;
    if (request === null) return { settled: await storage.settle(settlements), claimed: [] };
    if (this.#told !== null) return await this.#onceStanding(settlements, request, this.#told);
    if (settlements.length === 0) return { settled: [], claimed: await storage.claim(request) };
    return await storage.exchange(settlements, request);
  }

  async #onceStanding(
    settlements: readonly Settlement[],
    request: ClaimRequest,
    told: ToldRoom,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    // Before the answer: what is given meanwhile is taken off this one.
    told.tell(request.takes, request.alone);
    try {
      return await this.#options.storage.exchange(settlements, request);
    } catch (error) {
      told.doubt();
      throw error;
    }
  }

  /** Storage refused the batch for good: each result is tried by itself, so that one bad row harms no other. */
  async #salvage(
    settlements: readonly Settlement[],
    error: unknown,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] } | null> {
    this.#options.logger.error('storage refused an exchange; its results are settled one by one', {
      error,
      results: settlements.length,
    });
    if (settlements.length === 0)
      await delay(this.#options.pollMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    const { storage, logger } = this.#options;
    const settle = (one: Settlement): Promise<SettleOutcome[] | null> =>
      this.#untilAnswered(() => storage.settle([one]));
    const settled = await settleOneByOne(settle, settlements, logger);
    return settled === null ? null : { settled, claimed: [] };
  }

  /** Dry: until a wake-up comes, look again by the timer. */
  #rest(): void {
    const { storage, pollMs, random } = this.#options;
    if (this.#told !== null) {
      this.#wakeIn(standingRepeatMs * (0.9 + 0.2 * random()), 'poll');
      return;
    }
    this.#wakeIn(storage.capabilities.push ? pollMs * (0.9 + 0.2 * random()) : this.#adaptivePollMs, 'poll');
    const sincePeekMs = monotonicMs() - this.#peekedAtMs;
    this.#peekTimer ??= setTimeout(
      () => {
        this.#peekTimer = null;
        if (this.#options.plan.isDry && !this.#isClosed) void this.peek();
      },
      Math.max(peekEveryMs - sincePeekMs, 0),
    );
  }

  /** The poll moves the timer to when it wants, what is due only nearer. */
  #wakeIn(ms: number, cause: 'due' | 'poll'): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) {
      if (cause === 'due' && this.#timerAtMs <= monotonicMs() + ms) return;
      clearTimeout(this.#timer);
    }
    this.#timerAtMs = monotonicMs() + ms;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#adaptivePollMs = Math.min(this.#options.pollMs, this.#adaptivePollMs * pollGrowth);
      this.#wakeFor(cause, null);
    }, ms);
  }
}
