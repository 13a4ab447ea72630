import type { Logger } from '../internal/logger.js';
import type { Budgets } from '../storage/job-limit.js';
import type { NewJob } from '../storage/new-job.js';

/** Kinds of jobs that are told of; more of them say nothing new. */
const mostTold = 1_000;

/** Tells of jobs that cost more than a budget allows in all, and so will never run: once for each kind of them. */
export class CostWatch {
  readonly #budgets: Budgets;
  readonly #logger: Logger;
  readonly #told = new Set<string>();
  readonly #isIdle: boolean;

  constructor(budgets: Budgets, logger: Logger) {
    this.#budgets = budgets;
    this.#logger = logger;
    this.#isIdle = Object.keys(budgets.queues).length + Object.keys(budgets.groups).length === 0;
  }

  see(job: NewJob): void {
    if (this.#isIdle) return;
    const { queues, groups } = this.#budgets;
    this.#judge(job, 'queue', job.queue, queues);
    if (job.limit !== null) this.#judge(job, 'group', job.limit.group, groups);
  }

  #judge(
    { id, name, cost }: NewJob,
    of: 'queue' | 'group',
    what: string,
    budgets: Readonly<Record<string, number>>,
  ): void {
    const budget = Object.hasOwn(budgets, what) ? budgets[what] : undefined;
    if (budget === undefined || cost <= budget) return;
    const kind = JSON.stringify([name, of, what, cost]);
    if (this.#told.has(kind) || this.#told.size >= mostTold) return;
    this.#told.add(kind);
    this.#logger.warn(
      `job "${name}" costs more than the whole budget of its ${of}, so it will never run: raise the budget or lower its cost`,
      { job: id, cost, [of]: what, budget },
    );
  }
}
