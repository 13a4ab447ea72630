/**
 * The slots of a worker: starts jobs where a slot of their kind is free, watches their timeouts, passes on aborts.
 *
 * An inline slot is taken from the start of an attempt until its handler has returned, also when the attempt was settled
 * before that (abandoned after the grace). So a handler that ignores its signal costs its slot, never more than the slot.
 * A lane is taken until it answers; it kills what ignores an abort by itself, and is waited for.
 */
import type { RunnableJob } from '../client/job-definition.js';
import type { LaneKind } from '../core/lane-kind.js';
import type { Logger } from '../internal/logger.js';
import type { ClaimedJob } from '../storage/claimed-job.js';
import type { Settlement } from '../storage/settlement.js';
import type { WorkerStorage } from '../storage/worker-storage.js';
import { type AbortCause, Attempt } from './attempt.js';
import type { AttemptLog } from './attempt-log.js';
import type { Buffer, BufferedJob } from './buffer.js';
import type { Executor } from './executor.js';
import { settlementOfLane } from './lane-ending.js';
import type { Lane, LaneUsage } from './lanes/lane.js';
import type { LaneGroup } from './lanes/lane-group.js';
import { monotonicMs } from './monotonic.js';
import { RunningAttempts } from './running-attempts.js';

export interface RunnerOptions {
  /** Inline slots. */
  readonly concurrency: number;
  /** Most jobs at once over all kinds; null: what the slots allow. */
  readonly cap: number | null;
  /** The lanes of the other kinds. */
  readonly lanes: readonly LaneGroup[];
  readonly definitions: ReadonlyMap<string, RunnableJob>;
  readonly executor: Executor;
  readonly storage: Pick<WorkerStorage, 'markStarted'>;
  readonly log: AttemptLog;
  readonly logger: Logger;
  readonly killGraceMs: number;
  readonly onStart: ((attempt: Attempt) => void) | null;
  /** The attempt is decided; null: its lease is lost. Called once an attempt. */
  readonly onEnd: (attempt: Attempt, settlement: Settlement | null) => void;
  /** A slot became free. */
  readonly onRoom: () => void;
  readonly workerId: string;
  readonly random: () => number;
  readonly now: () => number;
  /** What an attempt in a lane used up, however it ended. */
  readonly onUsage: (attempt: Attempt, usage: LaneUsage) => void;
}

/** A lane that is told to end an attempt has the grace and this, to kill and reap; then the attempt is settled without it. */
const laneKillMs = 10_000;

const sweepEveryMs = 100;
/** A buffered job that was started late is marked as started once it has run this long. */
const markAfterMs = 1_000;

export class Runner {
  readonly #options: RunnerOptions;
  readonly #running = new RunningAttempts();
  readonly #marking = new Set<Attempt>();
  readonly #inLanes = new Map<Attempt, Lane>();
  #sweeper: NodeJS.Timeout | null = null;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Inline slots, free or not. */
  get width(): number {
    return this.#options.concurrency;
  }

  /** Free inline slots. */
  get free(): number {
    const { concurrency, cap } = this.#options;
    const free = concurrency - this.inline;
    return cap === null ? free : Math.min(free, cap - this.#running.size);
  }

  /** Jobs that run inline. */
  get inline(): number {
    return this.#running.size - this.#inLanes.size;
  }

  get attempts(): Iterable<Attempt> {
    return this.#running;
  }

  open(): void {
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
  }

  close(): void {
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.#sweeper = null;
  }

  /** Starts what is buffered where slots are free, until the next is not sure; what `admits` refuses is the caller's again. */
  fill(buffer: Buffer, isSure: (next: BufferedJob) => boolean, admits: (job: ClaimedJob) => boolean): void {
    while (this.free > 0) {
      const next = buffer.shift(isSure);
      if (next === undefined) return;
      if (admits(next.job)) this.start(next);
    }
  }

  start({ job, claimedAtMs }: BufferedJob): void {
    const definition = this.#options.definitions.get(job.name);
    // Claims ask for known names only.
    if (definition === undefined)
      throw new Error(`claimed a job of name "${job.name}", which was not asked for`);
    const attempt = new Attempt(job, definition, { claimedAtMs, startedAtMs: monotonicMs() });
    this.#running.add(attempt);
    const lane = definition.lane === 'inline' ? null : this.#takeLane(definition.lane);
    if (lane === null) void this.#run(attempt, this.#runInline);
    else {
      this.#inLanes.set(attempt, lane);
      void this.#run(attempt, (running) => this.#runInLane(lane, running));
    }
  }

  /** Whether a job of this kind could start now. */
  hasSlotFor({ name }: ClaimedJob): boolean {
    const kind = this.#options.definitions.get(name)?.lane ?? 'inline';
    return kind === 'inline' ? this.free > 0 : (this.#groupOf(kind)?.free ?? 0) > 0;
  }

  /** A job that is claimed again while an attempt of it still runs here was taken from that attempt. */
  supersede(claimed: readonly ClaimedJob[]): void {
    if (this.#running.size === 0 || claimed.length === 0) return;
    const ids = new Set(claimed.map(({ id }) => id));
    for (const attempt of this.#running) if (ids.has(attempt.job.id)) this.abort(attempt, 'lease-lost');
  }

  abort(attempt: Attempt, cause: AbortCause): void {
    if (attempt.isSettled && cause !== 'timed-out') return;
    if (attempt.abort(cause, monotonicMs())) {
      const { id, name } = attempt.job;
      this.#options.logger.info(`attempt aborted: ${cause}`, {
        job: id,
        name,
        attempt: attempt.job.attempts + 1,
      });
    }
    this.#inLanes.get(attempt)?.abort(attempt);
  }

  /** For a lease that is gone: it may have been ended by the handler itself, in a transaction of its own. */
  async abortUnlessSettled(attempt: Attempt, cause: AbortCause): Promise<void> {
    if (attempt.settledWithin !== null) await this.#options.executor.settledWithin(attempt, false);
    this.abort(attempt, cause);
  }

  #groupOf(kind: LaneKind): LaneGroup | undefined {
    return this.#options.lanes.find((group) => group.kind === kind);
  }

  #takeLane(kind: LaneKind): Lane {
    const lane = this.#groupOf(kind)?.take() ?? null;
    if (lane === null) throw new Error(`no ${kind} lane is free for a job that was started`);
    return lane;
  }

  readonly #runInline = (attempt: Attempt): Promise<Settlement | null> => this.#options.executor.run(attempt);

  #releaseLane(attempt: Attempt): void {
    if (this.#inLanes.size === 0) return;
    const lane = this.#inLanes.get(attempt);
    if (lane === undefined) return;
    this.#inLanes.delete(attempt);
    this.#groupOf(lane.kind)?.release(lane);
  }

  async #runInLane(lane: Lane, attempt: Attempt): Promise<Settlement | null> {
    const { executor, workerId, random, now, onUsage } = this.#options;
    const ending = await lane.run(attempt);
    if (ending.kind !== 'refused' && ending.usage !== null) onUsage(attempt, ending.usage);
    return settlementOfLane(attempt, ending, { executor, workerId, random, now });
  }

  async #run(attempt: Attempt, handler: (attempt: Attempt) => Promise<Settlement | null>): Promise<void> {
    try {
      // The job has lapsed before: this time its start is on record before it can take the process with it.
      if (attempt.job.lapses > 0 && !attempt.isMarkedStarted) await this.#markStarted([attempt]);
      if (attempt.abortCause !== 'lease-lost') {
        this.#options.onStart?.(attempt);
        const settlement = await handler(attempt);
        if (attempt.isAbandoned) this.#noteLateReturn(attempt);
        else {
          if (attempt.hasLogged) await this.#options.log.flushBeforeSettle();
          this.#options.onEnd(attempt, settlement);
        }
      } else this.#options.onEnd(attempt, null);
    } finally {
      this.#running.delete(attempt);
      this.#releaseLane(attempt);
      this.#options.onRoom();
    }
  }

  #noteLateReturn(attempt: Attempt): void {
    const { id, name } = attempt.job;
    const afterMs = Math.round(monotonicMs() - attempt.startedAtMs);
    this.#options.logger.warn(
      'a handler that ignored its signal has returned; its result is refused and its slot is free again',
      {
        job: id,
        name,
        afterMs,
      },
    );
  }

  #sweep(): void {
    const now = monotonicMs();
    const late: Attempt[] = [];
    for (const attempt of this.#running) {
      if (attempt.abortedAtMs !== null) {
        if (!attempt.isAbandoned && now - attempt.abortedAtMs >= this.#graceOf(attempt))
          this.#abandon(attempt);
      } else if (now >= attempt.deadlineAtMs - sweepEveryMs) {
        this.#timeOutAt(attempt, attempt.deadlineAtMs - now);
      }
      if (!attempt.isMarkedStarted && !this.#marking.has(attempt) && now - attempt.startedAtMs >= markAfterMs)
        late.push(attempt);
    }
    if (late.length > 0) void this.#markStarted(late);
  }

  #graceOf(attempt: Attempt): number {
    const { killGraceMs } = this.#options;
    return this.#inLanes.has(attempt) ? killGraceMs + laneKillMs : killGraceMs;
  }

  #timeOutAt(attempt: Attempt, inMs: number): void {
    if (inMs <= 0) this.abort(attempt, 'timed-out');
    else {
      setTimeout(() => {
        if (this.#running.has(attempt)) this.abort(attempt, 'timed-out');
      }, inMs).unref();
    }
  }

  #abandon(attempt: Attempt): void {
    attempt.isAbandoned = true;
    const { id, name } = attempt.job;
    this.#options.logger.warn(
      'a handler goes on after its signal and the grace; it keeps its slot until it returns',
      {
        job: id,
        name,
        cause: attempt.abortCause,
      },
    );
    if (attempt.settledWithin === null) this.#options.onEnd(attempt, this.#options.executor.abandon(attempt));
    else void this.#endAbandoned(attempt);
  }

  async #endAbandoned(attempt: Attempt): Promise<void> {
    const { executor, onEnd } = this.#options;
    onEnd(attempt, (await executor.settledWithin(attempt, true)) ?? executor.abandon(attempt));
  }

  async #markStarted(attempts: readonly Attempt[]): Promise<void> {
    for (const attempt of attempts) this.#marking.add(attempt);
    try {
      const lost = new Set(
        await this.#options.storage.markStarted(
          attempts.map(({ job }) => ({ id: job.id, token: job.token })),
        ),
      );
      for (const attempt of attempts) {
        if (lost.has(attempt.job.id)) this.abort(attempt, 'lease-lost');
        else attempt.isMarkedStarted = true;
      }
    } catch (error) {
      // Without the mark a death of this process is not counted against the job; it runs all the same.
      this.#options.logger.debug('the start of a job could not be marked', { error });
    } finally {
      for (const attempt of attempts) this.#marking.delete(attempt);
    }
  }
}
