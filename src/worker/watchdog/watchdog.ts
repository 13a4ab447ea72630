/**
 * The link thread's eye on the main loop: says when it is blocked and by which frame, and ends a process of ours whose
 * loop does not come back, whose supervisor is gone, or that has none and does not stop by a signal in its time. A process
 * of somebody else's is only reported on.
 */
import { constants } from 'node:os';
import { formatDuration } from '../../internal/duration.js';
import type { Logger } from '../../internal/logger.js';
import { monotonicMs } from '../monotonic.js';
import type { OwnedProcess } from '../owned-process.js';
import { BlockWatch } from './block-watch.js';
import { frameText, readMainStack } from './main-inspector.js';
import { ParentWatch } from './parent-watch.js';
import { couldNotProgress, killSelf } from './self-kill.js';
import { SignalEar } from './signal-ear.js';
import { StopDeadline, type StopTimes } from './stop-deadline.js';

export interface WatchdogOptions {
  readonly memory: SharedArrayBuffer;
  readonly owned: OwnedProcess | null;
  readonly logger: Logger;
  /** What the worker did when it was last heard: for the line about a block. */
  readonly running: () => number;
}

const stackDeadlineMs = 1_000;
/** Beyond the time that a worker allows itself to stop. */
const killMarginMs = 5_000;
/** Many workers that block on the same thing shall not all end at the same moment. */
const jitter = 0.1;

export class Watchdog implements Disposable {
  readonly #options: WatchdogOptions;
  readonly #watch: BlockWatch;
  readonly #parent: ParentWatch | null;
  readonly #stop: StopDeadline | null;
  readonly #ear: SignalEar | null;
  #killTimer: NodeJS.Timeout | null = null;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    const { memory, owned, logger } = options;
    this.#watch = new BlockWatch({
      memory,
      monotonic: monotonicMs,
      killAfterMs: owned === null ? null : owned.blockedTimeoutMs * (1 + jitter * Math.random()),
      onBlocked: (forMs) => void this.#tellBlocked(forMs),
      onTurning: (forMs) => logger.info(`loop: turns again after ${formatDuration(forMs)}`),
      onHopeless: (forMs) => void this.#kill(`the main loop has not turned for ${formatDuration(forMs)}`),
    });
    const supervisor = owned?.supervisor ?? null;
    this.#parent =
      owned === null || supervisor === null
        ? null
        : new ParentWatch(supervisor.pid, () => this.#followParent(owned.stop.withinMs));
    // A supervisor sees to it that its workers end.
    this.#stop = owned === null || supervisor !== null ? null : this.#createStop(owned.stop);
    this.#ear = this.#stop === null ? null : new SignalEar((signal) => this.#stop?.hear(signal));
  }

  start(): void {
    this.#watch.start();
    this.#parent?.start();
    if (this.#ear?.start() === false)
      this.#options.logger.debug(
        'a signal is heard only by a main loop that turns: this Node gives it to no thread',
      );
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    this.#parent?.[Symbol.dispose]();
    this.#ear?.[Symbol.dispose]();
    this.#stop?.[Symbol.dispose]();
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
  }

  #createStop(times: StopTimes): StopDeadline {
    return new StopDeadline({
      ...times,
      monotonic: monotonicMs,
      isBlocked: () => this.#watch.isBlocked,
      onTooLate: (signal, sinceMs) => {
        const how = this.#watch.isBlocked ? 'the main loop is blocked' : 'the worker did not stop';
        void this.#kill(
          `${signal} came ${formatDuration(sinceMs)} ago, and ${how}`,
          128 + constants.signals[signal],
        );
      },
    });
  }

  async #tellBlocked(forMs: number): Promise<void> {
    const frames = (await readMainStack(stackDeadlineMs)) ?? [];
    const [blocker] = frames;
    const where = blocker === undefined ? 'outside of JavaScript' : `in ${frameText(blocker)}`;
    this.#options.logger.warn(`loop: blocked for ${formatDuration(forMs)} ${where}`, {
      running: this.#options.running(),
      ...(frames.length > 1 ? { calledBy: frames.slice(1).map(frameText).join(' < ') } : {}),
    });
  }

  /** As by TERM; a main loop that does not turn to hear it is not waited for. */
  #followParent(stopWithinMs: number): void {
    const { logger } = this.#options;
    logger.error('the supervisor of this worker is gone, stopping');
    process.kill(process.pid, 'SIGTERM');
    this.#killTimer = setTimeout(
      () => void this.#kill('the supervisor is gone, and the worker did not stop in time'),
      stopWithinMs + killMarginMs,
    );
  }

  async #kill(reason: string, code = couldNotProgress): Promise<void> {
    const { owned, logger } = this.#options;
    if (owned !== null) await killSelf({ reason, code, file: owned.lastWordsFile, logger });
  }
}
