import type { Budgets, JobLimit } from './job-limit.js';

/** What runs of one group and key, under a limit of theirs. */
export interface KeyOccupancy {
  running: number;
  /** The smallest `max` of the jobs that run; null when none has one. */
  leastMax: number | null;
  /** When the key was served last: counts on within its group; 0 = never. */
  turn: number;
}

interface CostOccupancy {
  readonly budget: number;
  cost: number;
}

interface GroupOccupancy {
  readonly keys: Map<string | null, KeyOccupancy>;
  readonly cost: CostOccupancy;
  lastTurn: number;
}

/** Where a line of a queue has to find room. Resolved once, since a claim asks often. */
export interface Room {
  readonly max: number | null;
  readonly cost: number;
  readonly group: GroupOccupancy | null;
  readonly key: KeyOccupancy | null;
  readonly queue: CostOccupancy;
}

/** What a line needs room for. */
export interface Bounds {
  readonly limit: JobLimit | null;
  readonly cost: number;
}

/**
 * What runs, as a claim has counted it under its locks, and what the claim itself adds while it chooses. Whatever is not
 * told runs nothing.
 */
export class Occupancy {
  readonly #budgets: Budgets;
  readonly #groups = new Map<string, GroupOccupancy>();
  readonly #queues = new Map<string, CostOccupancy>();

  constructor(budgets: Budgets) {
    this.#budgets = budgets;
  }

  /** Tells what runs of a group and key; `cost` in all, and when the key was served last. */
  note(
    { group, key }: Pick<JobLimit, 'group' | 'key'>,
    seen: { readonly running: number; readonly leastMax: number | null; readonly cost: number; turn: number },
  ): void {
    const occupancy = this.#group(group);
    const own = keyOf(occupancy, key);
    own.running += seen.running;
    own.leastMax = least(own.leastMax, seen.leastMax);
    own.turn = Math.max(own.turn, seen.turn);
    occupancy.lastTurn = Math.max(occupancy.lastTurn, own.turn);
    occupancy.cost.cost += seen.cost;
  }

  /** Tells the summed cost of what runs of a queue and was claimed under a budget of it. */
  noteQueue(queue: string, cost: number): void {
    this.#queue(queue).cost += cost;
  }

  hasBudget(queue: string): boolean {
    return Object.hasOwn(this.#budgets.queues, queue);
  }

  roomFor(queue: string, { limit, cost }: Bounds): Room {
    const group = limit === null ? null : this.#group(limit.group);
    return {
      max: limit?.max ?? null,
      cost,
      group,
      key: limit === null || group === null ? null : keyOf(group, limit.key),
      queue: this.#queue(queue),
    };
  }

  #group(name: string): GroupOccupancy {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = {
        keys: new Map(),
        cost: { budget: budgetOf(this.#budgets.groups, name), cost: 0 },
        lastTurn: 0,
      };
      this.#groups.set(name, group);
    }
    return group;
  }

  #queue(name: string): CostOccupancy {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = { budget: budgetOf(this.#budgets.queues, name), cost: 0 };
      this.#queues.set(name, queue);
    }
    return queue;
  }
}

/** Whether one more job fits. Within a claim room only gets less. */
export function hasRoom({ max, cost, group, key, queue }: Room): boolean {
  if (queue.cost + cost > queue.budget) return false;
  if (group === null || key === null) return true;
  if (group.cost.cost + cost > group.cost.budget) return false;
  return key.running < Math.min(max ?? Infinity, key.leastMax ?? Infinity);
}

/** One more job runs. Its key goes to the end of its group's turns, but where turns are `kept`. */
export function takeRoom({ max, cost, group, key, queue }: Room, turns: 'taken' | 'kept'): void {
  queue.cost += cost;
  if (group === null || key === null) return;
  group.cost.cost += cost;
  key.running += 1;
  key.leastMax = least(key.leastMax, max);
  if (turns === 'kept') return;
  group.lastTurn += 1;
  key.turn = group.lastTurn;
}

function keyOf({ keys }: GroupOccupancy, name: string | null): KeyOccupancy {
  let key = keys.get(name);
  if (key === undefined) {
    key = { running: 0, leastMax: null, turn: 0 };
    keys.set(name, key);
  }
  return key;
}

function budgetOf(budgets: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(budgets, name) ? (budgets[name] ?? Infinity) : Infinity;
}

function least(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
