import type { NewJob } from '../new-job.js';
import { plainArray, textArray } from './arrays.js';
import type { EnqueueQueries } from './queries/enqueue.js';
import type { Executor } from './statement.js';

/**
 * Which combinations of queue, priority and name exist. A claim goes through the priorities that are registered, so the
 * row is committed before the first job of its kind is. Rows are never deleted, so what was seen once need not be
 * looked up again on the same session.
 */
export class KindRegistry {
  readonly #executor: Executor;
  readonly #queries: EnqueueQueries;
  /** queue → name → priorities. */
  readonly #known = new Map<string, Map<string, Set<number>>>();

  constructor(executor: Executor, queries: EnqueueQueries) {
    this.#executor = executor;
    this.#queries = queries;
  }

  /** The tables may be others now. */
  forget(): void {
    this.#known.clear();
  }

  misses(jobs: readonly NewJob[]): boolean {
    for (const job of jobs) if (!this.#has(job)) return true;
    return false;
  }

  async know(jobs: readonly NewJob[]): Promise<void> {
    const missing = jobs.filter((job) => !this.#has(job));
    if (missing.length === 0) return;
    const kinds = [
      ...new Map(missing.map((job) => [JSON.stringify([job.queue, -job.priority, job.name]), job])).values(),
    ];
    // One order for all, so that two writers of the same new kinds don't wait for each other.
    kinds.sort((a, b) => compare(a.queue, b.queue) || b.priority - a.priority || compare(a.name, b.name));
    await this.#executor.run(this.#queries.addKinds, [
      textArray(kinds.map((job) => job.queue)),
      plainArray(kinds.map((job) => 0 - job.priority)),
      textArray(kinds.map((job) => job.name)),
    ]);
    for (const job of kinds) this.#add(job);
  }

  #has(job: NewJob): boolean {
    return this.#known.get(job.queue)?.get(job.name)?.has(job.priority) === true;
  }

  #add({ queue, name, priority }: NewJob): void {
    const names = this.#known.get(queue) ?? new Map<string, Set<number>>();
    this.#known.set(queue, names);
    const priorities = names.get(name) ?? new Set<number>();
    names.set(name, priorities.add(priority));
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
