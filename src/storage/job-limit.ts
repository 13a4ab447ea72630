/**
 * What bounds when a job may run, beyond its time and its turn. A job without any of it is *ordinary*: the great many,
 * and they pay for none of this.
 *
 * - Its **limit**: of a group (and key) at most so many run at once. "Run" is held under a lease, live or lapsed but not
 *   taken back. A job starts only if the number running of its group and key, itself among them, is at most its own
 *   `max` and at most the `max` of each job that runs there: of two maxima the smaller holds.
 * - Its **cost** against budgets: the summed cost of what runs of a queue, or of a group with all its keys, stays within
 *   the budget that a claim names. Limits and group budgets count whatever runs of the group; a queue budget counts what
 *   was claimed under a budget of that queue.
 * - Its **labels**: a claim takes it only if the worker has them all.
 *
 * Jobs that agree in all of it (group, key, max, cost, labels) stand in one *line*: what holds for the first of a line
 * holds for the others, so a line that can't go on is passed over whole.
 */
export interface JobLimit {
  /** 1 to 100 characters of a queue name. */
  readonly group: string;
  /** A tenant of the group, with a cap of its own; 1 to 191 characters. Null: the group as one. */
  readonly key: string | null;
  /** At most so many at once, 1 … 1,000,000; null: the group is there for a budget alone. */
  readonly max: number | null;
}

/** What bounds a job that is ordinary. */
export const unbounded = Object.freeze({ limit: null, cost: 1, requires: Object.freeze<string[]>([]) });

/** Caps on the summed cost of what runs, by name of queue and of group. All workers of a database are to be told the same. */
export interface Budgets {
  readonly queues: Readonly<Record<string, number>>;
  readonly groups: Readonly<Record<string, number>>;
}

export const noBudgets: Budgets = Object.freeze({ queues: Object.freeze({}), groups: Object.freeze({}) });

/** What runs and waits of one group and key. */
export interface LimitState {
  readonly group: string;
  readonly key: string | null;
  /** The smallest of those that run and wait; null when none has one. */
  readonly max: number | null;
  readonly running: number;
  readonly runningCost: number;
  /** Pending, due or not, counted up to 1,000. */
  readonly waiting: number;
}
