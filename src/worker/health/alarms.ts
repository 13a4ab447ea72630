import type { MillraceEvents } from '../../client/events.js';
import type { Logger } from '../../internal/logger.js';
import type { TypedEvents } from '../../internal/typed-events.js';

/**
 * What is wrong with a worker that it does not mend by itself:
 * - `slots-overrun`: more is counted as running than there is to run it;
 * - `polls-alone`: jobs are found by the poll, and no wake-up comes;
 * - `own-memory`: its process is near what it may use, and nothing makes room for a fresh one;
 * - `disk-full`: its browser lanes take no jobs, since the disk they write on is full.
 */
export type AlarmName = 'slots-overrun' | 'polls-alone' | 'own-memory' | 'disk-full';

export interface AlarmsOptions {
  readonly workerId: string;
  readonly logger: Logger;
  readonly events: TypedEvents<MillraceEvents>;
}

/** Each is told once when it begins, by log and event, stands in the registration while it lasts, and is told when it is over. */
export class Alarms {
  readonly #options: AlarmsOptions;
  readonly #standing = new Map<AlarmName, string>();

  constructor(options: AlarmsOptions) {
    this.#options = options;
  }

  /** By name, with the sentence for people. */
  get standing(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#standing);
  }

  /** Null: it is well. */
  set(name: AlarmName, sentence: string | null): void {
    const { workerId, logger, events } = this.#options;
    const isNew = !this.#standing.has(name);
    if (sentence === null) {
      if (this.#standing.delete(name)) logger.info(`alarm ${name} is over`, { worker: workerId });
      return;
    }
    this.#standing.set(name, sentence);
    if (!isNew) return;
    logger.error(`alarm ${name}: ${sentence}`, { worker: workerId });
    events.emit('worker:unhealthy', { workerId, reason: `${name}: ${sentence}` });
  }
}
