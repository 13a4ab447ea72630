import { isDeepStrictEqual } from 'node:util';
import { MemoryStorage } from '../../src/storage/memory/storage.js';
import type { Storage } from '../../src/storage/storage.js';
import { peekAt } from '../support/claim-request.js';
import type { TestClock } from '../support/engines.js';
import { drainThroughTheSeam } from './drain.js';
import { allJobs, allLines, execute } from './execute.js';
import { comparableOf, normalize, sorted } from './normalize.js';
import type { Operation } from './operation.js';
import { isTie } from './tie.js';
import { newWorld, type World } from './world.js';

/** Where the engine and the model said different things. */
export interface Difference {
  readonly step: number;
  readonly what: string;
  readonly engine: unknown;
  readonly model: unknown;
}

/**
 * Virtual ms between two calls, so that no two calls have the same time on either storage, and longer than what a storage
 * has seen of lines with work may be old (by its own clock): each call finds what the calls before it have done.
 */
const TICK = 260;
/** Calls between two looks at everything. */
const LOOK_EVERY = 10;

/** One run: the same calls to the engine and to the memory storage, answers and states compared on the way. */
export class Lockstep {
  readonly world: World;
  /** From here on the two hold different jobs, and nothing is to be compared any more. */
  isTied = false;
  readonly #engine: Storage;
  readonly #model: Storage;
  readonly #clock: TestClock;
  #startMs = 0;
  #step = 0;

  constructor(run: string, engine: Storage, clock: TestClock) {
    this.world = newWorld(run);
    this.#engine = engine;
    this.#clock = clock;
    this.#model = new MemoryStorage({ clock });
  }

  async start(): Promise<void> {
    this.#startMs = Math.max(await this.#engine.now(), await this.#model.now());
  }

  /** Makes one call on both; null while they agree. */
  async step(operation: Operation): Promise<Difference | null> {
    this.#step += 1;
    this.#clock.advance(operation.method === 'advance' ? operation.ms : TICK);
    const answers = [];
    const raw: unknown[] = [];
    for (const storage of [this.#model, this.#engine]) {
      const answer = await execute(storage, operation, this.#startMs);
      raw.push(answer);
      answers.push(normalize(operation, answer, this.world, this.#startMs));
      if (storage === this.#engine) this.#remember(answer);
    }
    const difference = this.#compare(operation.method, answers[1], answers[0]);
    const isClaim = operation.method === 'claim' || operation.method === 'exchange';
    if (difference !== null && isClaim && isTie(raw[1], raw[0])) {
      this.isTied = true;
      return null;
    }
    return difference ?? (this.#step % LOOK_EVERY === 0 ? await this.look() : null);
  }

  /** Compares all that can be seen. */
  async look(): Promise<Difference | null> {
    for (const queue of this.world.queues) {
      const difference = await this.#both(`jobs of ${queue}`, async (storage) =>
        sorted(comparableOf(await allJobs(storage, { queue }, 500), this.#startMs)),
      );
      if (difference !== null) return difference;
    }
    const looks: [string, (storage: Storage) => Promise<unknown>][] = [
      ['stats', async (storage) => Promise.all(this.world.queues.map((queue) => storage.stats(queue)))],
      [
        'peek',
        (storage) => storage.peek(peekAt(this.world.queues, this.world.names, { labels: this.world.labels })),
      ],
      [
        'limits',
        async (storage) => (await storage.limits()).filter(({ group }) => this.world.groups.includes(group)),
      ],
      [
        'held',
        async (storage) =>
          sorted(
            (
              await Promise.all(this.world.incarnations.map((incarnation) => storage.held(incarnation)))
            ).flat(),
          ),
      ],
    ];
    for (const [what, ask] of looks) {
      const difference = await this.#both(what, async (storage) =>
        comparableOf(await ask(storage), this.#startMs),
      );
      if (difference !== null) return difference;
    }
    return null;
  }

  /** Compares every field of every job and its log; dearer than `look`. */
  async lookClosely(): Promise<Difference | null> {
    const leased = new Set(this.world.leases.map(({ id }) => id));
    for (const id of this.world.ids) {
      const difference = await this.#both(`job ${id}`, async (storage) =>
        comparableOf(
          [await storage.job(id), leased.has(id) && (await allLines(storage, id, 100))],
          this.#startMs,
        ),
      );
      if (difference !== null) return difference;
    }
    return this.look();
  }

  /** Ends everything by the seam's own means: nothing may be stuck, and the next run finds an empty database. */
  async drain(): Promise<Difference | null> {
    const left = await drainThroughTheSeam(this.#engine, this.world, (ms) => this.#clock.advance(ms));
    return this.#compare('what is left after everything was ended and purged', left, []);
  }

  /** Leases are given to both storages alike, or the run ends there. */
  #remember(answer: unknown): void {
    const claimed = Array.isArray(answer)
      ? answer
      : ((answer as { claimed?: unknown } | null)?.claimed ?? []);
    for (const job of claimed as {
      id?: unknown;
      token?: unknown;
      maxAttempts?: unknown;
      leaseUntilMs?: unknown;
    }[]) {
      const isClaim =
        typeof job === 'object' && job !== null && 'maxAttempts' in job && !('leaseUntilMs' in job);
      if (isClaim && typeof job.id === 'string' && typeof job.token === 'string') {
        this.world.leases.push({ id: job.id, token: job.token });
      }
    }
  }

  async #both(what: string, ask: (storage: Storage) => Promise<unknown>): Promise<Difference | null> {
    return this.#compare(what, await ask(this.#engine), await ask(this.#model));
  }

  #compare(what: string, engine: unknown, model: unknown): Difference | null {
    return isDeepStrictEqual(engine, model) ? null : { step: this.#step, what, engine, model };
  }
}
