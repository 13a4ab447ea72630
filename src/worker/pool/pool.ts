/**
 * A supervisor and its worker processes.
 *
 * It runs no code of the user's: the first worker loads the config and tells what the pool is to be; the others follow. It
 * starts again what ends, at once after a recycle and with growing waits after a crash, for ever. It needs no database: only
 * an adaptive pool reads its backlog there, and goes on with the workers it has while it can't.
 *
 *   running ──TERM or INT──▶ stopping (passed on; nothing is started again) ──all have ended──▶ ended
 *      │                        │ again: passed on, handlers are aborted
 *      │                        │ a third time, or a worker outlives its time: killed with its group
 *      └──no worker could be started──▶ ended with what they ended with
 *
 * A supervisor that is killed leaves nothing behind: its workers look at their parent.
 */
import type { Logger } from '../../internal/logger.js';
import { monotonicMs } from '../monotonic.js';
import type { PoolSetup } from './pool-messages.js';
import type { PoolCommand } from './pool-process.js';
import { PoolScaler } from './pool-scaler.js';
import { PoolSlot } from './pool-slot.js';

export interface PoolOptions {
  readonly command: PoolCommand;
  readonly logger: Logger;
}

export interface PoolEnd {
  /** 0; what a worker ended with that could not be started; 128 + the signal where the end was forced. */
  readonly code: number;
  /** How all attempts ended, by kind. */
  readonly counts: Readonly<Record<string, number>>;
}

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;
export type PoolSignal = keyof typeof signalNumbers;

/** Beyond the time that a worker allows itself. */
const killMarginMs = 5_000;
/** Until the first worker has told what its own time is. */
const stopWithinUnknownMs = 30_000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #counts = new Map<string, number>();
  #slots: PoolSlot[] = [];
  #setup: PoolSetup | null = null;
  #scaler: PoolScaler | null = null;
  #wasUp = false;
  #signals = 0;
  #forcedBy: number | null = null;
  #refusal: number | null = null;
  #worstCode = 0;
  #killTimer: NodeJS.Timeout | null = null;
  #resolve: (end: PoolEnd) => void = () => undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Resolves when no worker is left. */
  run(): Promise<PoolEnd> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#add();
    });
  }

  get slots(): readonly PoolSlot[] {
    return this.#slots;
  }

  /** The first is passed on, the second too, which aborts what runs; the third kills. */
  signal(name: PoolSignal): void {
    this.#signals += 1;
    if (this.#signals > 1) this.#forcedBy = 128 + signalNumbers[name];
    this.#scaler?.stop();
    if (this.#signals > 2) {
      for (const slot of [...this.#slots]) slot.kill();
      return;
    }
    for (const slot of [...this.#slots]) slot.stop(name);
    const stopWithinMs =
      this.#signals === 1 ? (this.#setup?.stopWithinMs ?? stopWithinUnknownMs) : killMarginMs;
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    this.#killTimer = setTimeout(() => this.#killLate(), stopWithinMs + killMarginMs);
  }

  #killLate(): void {
    for (const slot of this.#slots) {
      this.#options.logger.error(`pool: worker ${slot.number} outlived its time and is killed`, {
        pid: slot.pid,
      });
      this.#worstCode = 137;
      slot.kill();
    }
  }

  #add(): void {
    const taken = new Set(this.#slots.map(({ number }) => number));
    let number = 1;
    while (taken.has(number)) number += 1;
    const { command, logger } = this.#options;
    const slot: PoolSlot = new PoolSlot({
      number,
      command,
      logger,
      random: Math.random,
      monotonic: monotonicMs,
      wasPoolUp: () => this.#wasUp,
      onSetup: (setup) => this.#noteSetup(setup),
      onChange: () => this.#noteChange(slot),
    });
    this.#slots = [...this.#slots, slot];
    slot.start();
  }

  #noteSetup(setup: PoolSetup): void {
    const isFirst = this.#setup === null;
    this.#setup = setup;
    if (!isFirst || this.#signals > 0) return;
    const { size } = setup;
    const { logger } = this.#options;
    const first = size.kind === 'fixed' ? size.workers : size.min;
    if (size.kind === 'adaptive' || first > 1) logger.info(`pool: ${sizeText(setup)}`, { pid: process.pid });
    this.#scaleTo(first);
    if (size.kind !== 'adaptive') return;
    this.#scaler = new PoolScaler({
      setup,
      size,
      logger,
      slots: () => this.#slots,
      scaleTo: (workers) => this.#scaleTo(workers),
    });
    this.#scaler.start();
  }

  /** Those that are idle go first, and of these the ones with the highest numbers. */
  #scaleTo(workers: number): void {
    const wanted = this.#slots.filter(({ isWanted }) => isWanted);
    for (let count = wanted.length; count < workers; count += 1) this.#add();
    const idleFirst = wanted.toSorted(
      (a, b) => (a.status?.running ?? 0) - (b.status?.running ?? 0) || b.number - a.number,
    );
    for (const slot of idleFirst.slice(0, Math.max(wanted.length - workers, 0))) slot.drain('pool shrink');
  }

  #noteChange(slot: PoolSlot): void {
    if (slot.state === 'up') this.#wasUp = true;
    if (!slot.isOver || !this.#slots.includes(slot)) return;
    this.#slots = this.#slots.filter((other) => other !== slot);
    for (const [kind, count] of slot.counts) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count);
    const code = slot.lastEnd?.code ?? 0;
    if (slot.state === 'refused') this.#refusal = code;
    else if (this.#signals > 0) this.#worstCode = Math.max(this.#worstCode, code);
    if (this.#slots.length === 0) this.#end();
  }

  #end(): void {
    this.#scaler?.stop();
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    this.#resolve({
      code: this.#forcedBy ?? (this.#signals > 0 ? this.#worstCode : (this.#refusal ?? 0)),
      counts: Object.fromEntries(this.#counts),
    });
  }
}

function sizeText({ size, lanesPerWorker }: PoolSetup): string {
  const lanes = `${lanesPerWorker} lanes each`;
  if (size.kind === 'fixed') return `${size.workers} workers, ${lanes}`;
  const wait =
    size.targetWaitMs === null ? '' : `, sized to clear the backlog in ${size.targetWaitMs / 1000} s`;
  return `${size.min} to ${size.max} workers, ${lanes}${wait}`;
}
