import type { Budgets } from '../job-limit.js';
import type { Connection } from './connection.js';
import { type Line, ownLine } from './line-book.js';
import { type RunningTuple, running } from './queries/metered.js';

/** What runs behind a gate: how many jobs of each line. */
type GateUse = Map<Line, number>;

/**
 * What runs at this moment under limits and budgets, counted from the leases themselves: there is nothing that could
 * drift from them. SQLite has one writer, so inside a write transaction the count stays true until the commit.
 */
export class Usage {
  readonly #gates = new Map<number, GateUse>();
  readonly #groups = new Map<string, number>();
  readonly #queues = new Map<number, number>();
  readonly #queueBudgets = new Map<number, number>();
  readonly #groupBudgets: Readonly<Record<string, number>>;

  constructor(db: Connection, budgets: Budgets) {
    this.#groupBudgets = budgets.groups;
    for (const [queue, budget] of Object.entries(budgets.queues)) {
      const id = db.kinds.queueId(queue);
      if (id !== undefined) this.#queueBudgets.set(id, budget);
    }
    const rows = db.tuples<RunningTuple>(running);
    db.lines.load(rows.map(([, line]) => ownLine(line)));
    for (const [queue, line, metered, count] of rows)
      this.#count(db.lines.byId(ownLine(line)), metered === 1 ? queue : null, count);
  }

  /** Whether claims from the queue are made under a budget. */
  isMetered(queue: number): boolean {
    return this.#queueBudgets.has(queue);
  }

  /** Whether one more job of the line may run in the queue. */
  fits(line: Line, queue: number): boolean {
    const budget = this.#queueBudgets.get(queue);
    if (budget !== undefined && (this.#queues.get(queue) ?? 0) + line.cost > budget) return false;
    return line.gate === null || this.#fitsGate(line, line.gate);
  }

  /** One more of them runs. */
  add(line: Line, queue: number): void {
    this.#count(line, this.isMetered(queue) ? queue : null, 1);
  }

  /** @param queue null: under no budget of its queue */
  #count(line: Line, queue: number | null, count: number): void {
    const cost = line.cost * count;
    if (queue !== null) this.#queues.set(queue, (this.#queues.get(queue) ?? 0) + cost);
    if (line.gate === null) return;
    const { id, group } = line.gate;
    this.#groups.set(group, (this.#groups.get(group) ?? 0) + cost);
    const use: GateUse = this.#gates.get(id) ?? new Map<Line, number>();
    this.#gates.set(id, use.set(line, (use.get(line) ?? 0) + count));
  }

  /** Of several maxima the least holds, those of the jobs that run there included. */
  #fitsGate(line: Line, { id, group }: { id: number; group: string }): boolean {
    const budget = Object.hasOwn(this.#groupBudgets, group) ? this.#groupBudgets[group] : undefined;
    if (budget !== undefined && (this.#groups.get(group) ?? 0) + line.cost > budget) return false;
    let count = 1;
    let most = line.limit?.max ?? Infinity;
    for (const [other, running] of this.#gates.get(id) ?? []) {
      count += running;
      most = Math.min(most, other.limit?.max ?? Infinity);
    }
    return count <= most;
  }
}
