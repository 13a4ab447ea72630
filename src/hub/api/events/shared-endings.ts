import type { JobEnding } from '../../../storage/job-record.js';
import type { Storage } from '../../../storage/storage.js';

interface Asking {
  readonly resolve: (ending: JobEnding | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const mostAtOnce = 1_000;

/** Reads what became of jobs, for all who ask at about the same time by one statement. */
export class SharedEndings {
  readonly #storage: () => Promise<Storage>;
  #waiting = new Map<string, Asking[]>();
  #isReading = false;

  constructor(storage: () => Promise<Storage>) {
    this.#storage = storage;
  }

  /** Undefined: there is no such job. Rejects as `Storage.endings` does. */
  read(id: string): Promise<JobEnding | undefined> {
    return new Promise((resolve, reject) => {
      const asking = this.#waiting.get(id) ?? [];
      asking.push({ resolve, reject });
      this.#waiting.set(id, asking);
      if (!this.#isReading) {
        this.#isReading = true;
        setImmediate(() => void this.#readAll());
      }
    });
  }

  /** Who asks while a read is on its way is in the next one. */
  async #readAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const all = this.#waiting;
      this.#waiting = new Map();
      const ids = [...all.keys()];
      for (let start = 0; start < ids.length; start += mostAtOnce) {
        await this.#readSome(ids.slice(start, start + mostAtOnce), all);
      }
    }
    this.#isReading = false;
  }

  async #readSome(ids: readonly string[], all: ReadonlyMap<string, readonly Asking[]>): Promise<void> {
    try {
      const endings = await (await this.#storage()).endings(ids);
      const byId = new Map(endings.map((ending) => [ending.id, ending]));
      for (const id of ids) for (const { resolve } of all.get(id) ?? []) resolve(byId.get(id));
    } catch (error) {
      for (const id of ids) for (const { reject } of all.get(id) ?? []) reject(error);
    }
  }
}
