/**
 * Keeps the process of a lane alive: a child of ours, or a Chrome.
 *
 *   starting ──ready──▶ well ──ended──▶ starting (at once, when it died under a job)
 *      │ ended, or its deadline          └──▶ (after a wait, when it died by itself) starting
 *      ▼
 *   starting again after a wait that grows; after some failures in a row: quarantined, tried again all the same
 *   any ──stop──▶ stopped
 *
 * The wait has full jitter. A child that never became ready is ended with its group and never handed out.
 */
import { failuresBeforeQuarantine, laneRestartDelayMs } from '../../core/lane-restarts.js';
import { formatDuration } from '../../internal/duration.js';
import { describeFailure } from '../../internal/failure.js';
import type { ProcessEnd } from '../../internal/group-process.js';
import type { Logger } from '../../internal/logger.js';
import { setLongTimeout } from '../../internal/long-timeout.js';
import { monotonicMs } from '../monotonic.js';

/** A process that a lane has. */
export interface LaneProcess {
  readonly pid: number | null;
  readonly ended: Promise<ProcessEnd>;
  /** Kills its whole group at once. */
  kill(reason: string): void;
}

export interface SupervisorOptions<Child extends LaneProcess> {
  /** For the log: `lane 1`. */
  readonly name: string;
  readonly logger: Logger;
  readonly random: () => number;
  readonly startMs: number;
  /** Spawns a child and greets it; a rejection counts as a child that did not start. */
  readonly spawn: () => Child | Promise<Child>;
  /** What one that is not ready in time had not done: `loaded its module`. */
  readonly firstDeed: string;
  /** Why it can't be spawned, as was seen before: it begins in quarantine. @default null */
  readonly knownFailure?: string | null;
  readonly onWell: (child: Child) => void;
  /** How its log and notes tell of an end. @default `process` and the reason */
  readonly sayEnd?: (reason: string) => string;
  /** Says what it ended by. */
  readonly onEnd: (end: ProcessEnd) => EndCause;
  readonly onChange: () => void;
  readonly onStep: (step: 'restart' | 'quarantine' | 'replace', reason: string) => void;
}

/** Under or after a job, for which the lane is not to blame; as was planned; or by itself. */
export type EndCause = 'job' | 'planned' | 'itself';

export type SupervisorState = 'starting' | 'well' | 'quarantined' | 'stopped';

/** A child that idled so long was well, whatever ended it. */
const wellAfterMs = 10_000;

export class LaneSupervisor<Child extends LaneProcess> {
  readonly #options: SupervisorOptions<Child>;
  readonly #stopping = new AbortController();
  #state: SupervisorState = 'stopped';
  #child: Child | null = null;
  #noteReady: (() => void) | null = null;
  #supervision: Promise<void> | null = null;
  #failures = 0;
  #restarts = 0;
  #wasWell = false;
  #note: string | null = null;

  constructor(options: SupervisorOptions<Child>) {
    this.#options = options;
  }

  get state(): SupervisorState {
    return this.#state;
  }

  get child(): Child | null {
    return this.#child;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** At least once. */
  get wasWell(): boolean {
    return this.#wasWell;
  }

  /** Why it is not well; null when it is. */
  get note(): string | null {
    return this.#note;
  }

  start(): void {
    if (this.#stopping.signal.aborted) return;
    this.#supervision ??= this.#supervise();
  }

  /** The present child says that it is ready. */
  ready(): void {
    this.#noteReady?.();
  }

  /** Lets the child say goodbye for so long, then kills it; resolves when it is gone. */
  async stop(farewellMs: number): Promise<void> {
    this.#stopping.abort();
    const child = this.#child;
    const farewell = setLongTimeout(() => child?.kill('the worker stops'), farewellMs);
    await this.#supervision;
    farewell.cancel();
    this.#moveTo('stopped');
  }

  async #supervise(): Promise<void> {
    const { knownFailure = null } = this.#options;
    // Its state is another before the first wait: who asks for it after `start` must find that.
    if (knownFailure !== null) await this.#beginInQuarantine(knownFailure);
    while (!this.#stopping.signal.aborted) {
      this.#moveTo(this.#failures < failuresBeforeQuarantine ? 'starting' : 'quarantined');
      try {
        await this.#oneLife();
      } catch (error) {
        this.#noteEnd({ reason: describeFailure(error).message, cause: 'itself', wasSpawned: false });
      } finally {
        this.#child = null;
      }
      if (!this.#stopping.signal.aborted) await this.#pauseBeforeRestart();
    }
  }

  async #beginInQuarantine(reason: string): Promise<void> {
    this.#failures = failuresBeforeQuarantine - 1;
    this.#noteEnd({ reason, cause: 'itself', wasSpawned: false });
    await this.#pauseBeforeRestart();
  }

  /** From the spawn of a child until it is gone. */
  async #oneLife(): Promise<void> {
    const { spawn, onEnd } = this.#options;
    const child = await spawn();
    this.#child = child;
    if (this.#stopping.signal.aborted) child.kill('the worker stops');
    const readyAtMs = await this.#untilReady(child);
    const { exitCode, signal, reason, tail } = await child.ended;
    this.#child = null;
    if (readyAtMs !== null && monotonicMs() - readyAtMs >= wellAfterMs) this.#failures = 0;
    const cause = onEnd({ exitCode, signal, reason, tail });
    this.#noteEnd({ reason, tail, cause, pid: child.pid });
  }

  /** When it became ready, monotonic ms; null when it ended before. */
  async #untilReady(child: Child): Promise<number | null> {
    const { name, logger, startMs, firstDeed, onWell } = this.#options;
    const ready = new Promise<true>((resolve) => {
      this.#noteReady = () => resolve(true);
    });
    const deadline = setLongTimeout(
      () => child.kill(`had not ${firstDeed} within ${formatDuration(startMs)}`),
      startMs,
    );
    const isReady = await Promise.race([ready, child.ended.then(() => false)]);
    deadline.cancel();
    this.#noteReady = null;
    if (!isReady) return null;
    if (this.#failures > 0) logger.info(`${name}: well again`, { pid: child.pid });
    this.#note = null;
    this.#wasWell = true;
    onWell(child);
    this.#moveTo('well');
    return monotonicMs();
  }

  #noteEnd(end: {
    reason: string;
    cause: EndCause;
    tail?: string;
    pid?: number | null;
    wasSpawned?: boolean;
  }): void {
    if (this.#stopping.signal.aborted) return;
    const { reason, tail = '', cause, pid = null, wasSpawned = true } = end;
    this.#failures = cause === 'itself' ? this.#failures + 1 : 0;
    const said = tail === '' ? '' : `; it wrote: ${tail}`;
    const often = this.#failures > 1 ? ` (${this.#failures} times in a row)` : '';
    const what = wasSpawned ? this.#sayEnd(reason) : reason;
    this.#note = `${wasSpawned ? 'its ' : ''}${what}${wasSpawned ? often : ''}${said}`;
    this.#lastEnd = { reason, what, tail, pid, cause };
  }

  #sayEnd(reason: string): string {
    return this.#options.sayEnd?.(reason) ?? `process ${reason}`;
  }

  #lastEnd: { reason: string; what: string; tail: string; pid: number | null; cause: EndCause } = {
    reason: '',
    what: '',
    tail: '',
    pid: null,
    cause: 'itself',
  };

  async #pauseBeforeRestart(): Promise<void> {
    const { name, logger, random, onStep } = this.#options;
    const delayMs = laneRestartDelayMs(this.#failures, random);
    const { reason, what: ended, tail, pid, cause } = this.#lastEnd;
    const isQuarantined = this.#failures >= failuresBeforeQuarantine;
    const what = isQuarantined ? 'takes no work until it is well, tried again' : 'restarting';
    logger[levelOf(cause, this.#failures)](`${name}: ${ended}, ${what} in ${(delayMs / 1000).toFixed(1)} s`, {
      pid,
      failures: this.#failures,
      ...(tail === '' ? {} : { stderr: tail }),
    });
    this.#restarts += 1;
    if (cause === 'planned') onStep('replace', reason);
    else if (this.#failures === failuresBeforeQuarantine) onStep('quarantine', reason);
    else if (!isQuarantined) onStep('restart', reason);
    this.#moveTo(isQuarantined ? 'quarantined' : 'starting');
    if (delayMs > 0) await this.#pause(delayMs);
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setLongTimeout(end, ms);
      signal.addEventListener('abort', end);
    });
  }

  #moveTo(state: SupervisorState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onChange();
  }
}

/** What goes on failing is told ever more seldom: after the 3rd time, the 4th, the 8th, the 16th. */
function levelOf(cause: EndCause, failures: number): 'debug' | 'info' | 'error' {
  if (cause === 'planned') return 'info';
  const isRepeated = failures > failuresBeforeQuarantine && !Number.isInteger(Math.log2(failures));
  return isRepeated ? 'debug' : 'error';
}
