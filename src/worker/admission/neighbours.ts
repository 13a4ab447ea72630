import type { Logger } from '../../internal/logger.js';
import type { Storage } from '../../storage/storage.js';
import { monotonicMs } from '../monotonic.js';

export interface NeighboursOptions {
  readonly storage: Pick<Storage, 'workers'>;
  readonly workerId: string;
  /** Workers of one host name share its memory. */
  readonly host: string;
  /** A worker that was silent for so long is taken to be gone. */
  readonly ttlMs: number;
  readonly logger: Logger;
}

const refreshEveryMs = 30_000;

/** Whether other live workers use the memory that this one uses. */
export interface Neighbours {
  readonly any: boolean;
  /** Never rejects. */
  refresh(): Promise<void>;
}

/** Those of the own pool, where nobody tells of others. */
export function poolNeighbours(poolWidth: number): Neighbours {
  return { any: poolWidth > 1, refresh: () => Promise.resolve() };
}

/** Those that are registered with the same host name. */
export class RegisteredNeighbours implements Neighbours {
  readonly #options: NeighboursOptions;
  #any = false;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: NeighboursOptions) {
    this.#options = options;
  }

  get any(): boolean {
    return this.#any;
  }

  async refresh(): Promise<void> {
    const { storage, workerId, host, ttlMs, logger } = this.#options;
    const now = monotonicMs();
    if (now - this.#readAtMs < refreshEveryMs) return;
    this.#readAtMs = now;
    try {
      const workers = await storage.workers();
      this.#any = workers.some((other) => {
        return other.id !== workerId && other.host === host && !other.gone && other.silentForMs < ttlMs;
      });
    } catch (error) {
      // What was known before still counts; the next look is half a minute away.
      logger.debug('could not look for other workers of this host', { error });
    }
  }
}
