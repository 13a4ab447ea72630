/**
 * One place of a pool, in which one worker process after the other lives.
 *
 *   starting ──it says that it runs──▶ up ──asked to drain──▶ draining ──it ends──▶ ended
 *      ▲                                │ it ends
 *      │                                ▼
 *      └──────────── now after a recycle, later after a crash ── waiting
 *
 *   It ends with 2, 64 or 75 before any worker of the pool was ever up: refused. Starting it again would not help. Later
 *   that is a crash like others: a deploy that is half written, or a database in between, must not cost a place for good.
 */
import { restartDelayMs, wellAfterMs } from '../../core/crash-backoff.js';
import type { Logger } from '../../internal/logger.js';
import { formatSeconds } from './format-seconds.js';
import type { PoolBacklog, PoolMemberStatus, PoolSetup, PoolUpMessage } from './pool-messages.js';
import { type PoolCommand, PoolProcess, type PoolProcessEnd } from './pool-process.js';

export type PoolSlotState = 'starting' | 'up' | 'draining' | 'waiting' | 'ended' | 'refused';

export interface PoolSlotOptions {
  readonly number: number;
  readonly command: PoolCommand;
  readonly logger: Logger;
  readonly random: () => number;
  readonly monotonic: () => number;
  /** Whether a worker of the pool was ever up. */
  readonly wasPoolUp: () => boolean;
  readonly onSetup: (setup: PoolSetup) => void;
  readonly onChange: () => void;
}

/** One that leaves with 0 before it has lived so long has not recycled: starting it again at once would spin. */
const shortestLifeMs = 1_000;
/** It can't be run as it is configured (2, 64), or somebody must act first (75), as on an unmigrated schema. */
const refusals: ReadonlySet<number | null> = new Set([2, 64, 75]);

export class PoolSlot {
  readonly number: number;
  /** How its last process ended. */
  lastEnd: PoolProcessEnd | null = null;
  status: PoolMemberStatus | null = null;
  /** How the attempts of all its processes ended. */
  readonly counts = new Map<string, number>();
  restarts = 0;
  readonly #options: PoolSlotOptions;
  #state: PoolSlotState = 'waiting';
  #process: PoolProcess | null = null;
  #startedAtMs = 0;
  #crashes: number[] = [];
  #timer: NodeJS.Timeout | null = null;
  #isEnding = false;
  #asks = 0;
  /** Of several at once the last one counts. */
  #ask: {
    readonly number: number;
    readonly resolve: (backlog: PoolBacklog) => void;
    readonly reject: (error: Error) => void;
  } | null = null;

  constructor(options: PoolSlotOptions) {
    this.#options = options;
    this.number = options.number;
  }

  get state(): PoolSlotState {
    return this.#state;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** It takes jobs, or will soon without being asked again. */
  get isWanted(): boolean {
    return this.#state === 'starting' || this.#state === 'up' || this.#state === 'waiting';
  }

  get isOver(): boolean {
    return this.#state === 'ended' || this.#state === 'refused';
  }

  start(): void {
    if (this.#isEnding) return;
    const { command, number, monotonic } = this.#options;
    this.#state = 'starting';
    this.status = null;
    this.#startedAtMs = monotonic();
    const child = new PoolProcess(command, number, (message) => this.#take(message));
    this.#process = child;
    void child.ended.then((end) => this.#noteEnd(end));
  }

  /** Asks its worker to finish what runs and to end, without a deadline. */
  drain(reason: string): void {
    if (this.#leaveIfEmpty()) return;
    this.#state = 'draining';
    this.#process?.drain(reason);
  }

  /** Passes a signal on; no process follows the one that is there. */
  stop(signal: NodeJS.Signals): void {
    if (this.#leaveIfEmpty()) return;
    this.#state = 'draining';
    this.#process?.signal(signal);
  }

  /** What waits, as its worker learns it of its hub. Never resolves where that worker ends meanwhile. */
  askBacklog(): Promise<PoolBacklog> {
    this.#asks += 1;
    const number = this.#asks;
    return new Promise((resolve, reject) => {
      this.#ask = { number, resolve, reject };
      this.#process?.post({ type: 'ask-backlog', ask: number });
    });
  }

  kill(): void {
    if (!this.#leaveIfEmpty()) this.#process?.kill();
  }

  /** Where no process is there, there is nothing to wait for. */
  #leaveIfEmpty(): boolean {
    this.#isEnding = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#process !== null) return false;
    if (!this.isOver) this.#state = 'ended';
    this.#options.onChange();
    return true;
  }

  #take(message: PoolUpMessage): void {
    if (message.type === 'setup') this.#options.onSetup(message.setup);
    else if (message.type === 'status') this.#noteStatus(message.status);
    else if (message.type === 'backlog') this.#noteBacklog(message.ask, message.backlog);
    else
      for (const [kind, count] of Object.entries(message.counts))
        this.counts.set(kind, (this.counts.get(kind) ?? 0) + count);
  }

  #noteBacklog(ask: number, backlog: PoolBacklog | null): void {
    if (this.#ask?.number !== ask) return;
    if (backlog === null) this.#ask.reject(new Error('its hub does not answer'));
    else this.#ask.resolve(backlog);
  }

  #noteStatus(status: PoolMemberStatus): void {
    this.status = status;
    if (this.#state !== 'starting' || status.state !== 'RUNNING') return;
    this.#state = 'up';
    this.#options.onChange();
  }

  #noteEnd(end: PoolProcessEnd): void {
    const { logger, monotonic, wasPoolUp, onChange } = this.#options;
    const livedMs = monotonic() - this.#startedAtMs;
    this.#process = null;
    this.status = null;
    this.lastEnd = end;
    if (this.#isEnding) {
      this.#state = 'ended';
      logger.debug(`pool: worker ${this.number} has ended`, { code: end.code, signal: end.signal });
    } else if (refusals.has(end.code) && !wasPoolUp()) {
      this.#state = 'refused';
      logger.error(`pool: worker ${this.number} cannot be started, it is not tried again`, {
        code: end.code,
      });
    } else if (end.code === 0 && livedMs >= shortestLifeMs) this.#restartNow();
    else this.#restartLater(end, livedMs);
    onChange();
  }

  #restartNow(): void {
    this.#crashes = [];
    this.restarts += 1;
    this.#options.logger.info(`pool: worker ${this.number} has recycled, starting the next`);
    this.start();
  }

  #restartLater(end: PoolProcessEnd, livedMs: number): void {
    const { logger, monotonic, random } = this.#options;
    if (livedMs >= wellAfterMs) this.#crashes = [];
    this.#crashes = [...this.#crashes, monotonic()].slice(-100);
    this.restarts += 1;
    const delayMs = restartDelayMs(this.#crashes, random);
    logger.error(
      `pool: worker ${this.number} ended (${endText(end)}), starting again in ${formatSeconds(delayMs)}`,
      {
        inARow: this.#crashes.length,
      },
    );
    this.#state = 'waiting';
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.start();
    }, delayMs);
  }
}

function endText({ code, signal, reason }: PoolProcessEnd): string {
  const how = signal === null ? `code ${code}` : signal;
  return reason === null ? how : `${how}: ${reason}`;
}
