import type { Logger } from '../../internal/logger.js';
import type { WorkerStorage } from '../../storage/worker-storage.js';

export interface KnownQueuesOptions {
  readonly storage: Pick<WorkerStorage, 'queues'>;
  readonly except: readonly string[];
  readonly logger: Logger;
  /** There are others than before. */
  readonly onChange: (queues: readonly string[]) => void;
}

const refreshEveryMs = 1_000;

/** All queues there are but some, for a worker that serves whatever comes: looked up each second, and heard of in wake-ups. */
export class KnownQueues {
  readonly #options: KnownQueuesOptions;
  readonly #except: ReadonlySet<string>;
  readonly #known = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #current: Promise<void> | null = null;

  constructor(options: KnownQueuesOptions) {
    this.#options = options;
    this.#except = new Set(options.except);
  }

  open(): void {
    void this.refresh();
    this.#timer = setInterval(() => void this.refresh(), refreshEveryMs);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** A wake-up named these. */
  note(queues: readonly string[]): void {
    const before = this.#known.size;
    for (const queue of queues) if (!this.#except.has(queue)) this.#known.add(queue);
    // In the order of their names, so that it does not depend on who heard of what first.
    if (this.#known.size > before) this.#options.onChange([...this.#known].sort());
  }

  /** Never rejects. */
  refresh(): Promise<void> {
    this.#current ??= this.#read().finally(() => {
      this.#current = null;
    });
    return this.#current;
  }

  async #read(): Promise<void> {
    try {
      this.note(await this.#options.storage.queues());
    } catch (error) {
      // The next look is a second away, and the exchange finds out about the database.
      this.#options.logger.debug('could not look for new queues', { error });
    }
  }
}
