import type { Budgets, JobLimit, LimitState } from '../job-limit.js';
import { Occupancy } from '../occupancy.js';
import type { MemoryState } from './state.js';

const mostLines = 1_000;
const mostWaiting = 1_000;

/** What runs now, against limits and these budgets. */
export function occupancyOf(state: MemoryState, budgets: Budgets): Occupancy {
  const occupancy = new Occupancy(budgets);
  for (const { queue, limit, cost, lease } of state.bounded) {
    if (limit !== null) occupancy.note(limit, { running: 1, leastMax: limit.max, cost, turn: 0 });
    if (lease?.metered === true) occupancy.noteQueue(queue, cost);
  }
  for (const [group, key] of state.turns.keys()) {
    const turn = state.turns.turnOf(group, key);
    occupancy.note({ group, key }, { running: 0, leastMax: null, cost: 0, turn });
  }
  return occupancy;
}

export function limits(state: MemoryState): LimitState[] {
  const found = new Map<string, { -readonly [Field in keyof LimitState]: LimitState[Field] }>();
  for (const { status, limit, cost } of state.jobs.values()) {
    if (limit === null || (status !== 'pending' && status !== 'processing')) continue;
    const line = found.get(nameOf(limit)) ?? {
      group: limit.group,
      key: limit.key,
      max: null,
      running: 0,
      runningCost: 0,
      waiting: 0,
    };
    found.set(nameOf(limit), line);
    if (limit.max !== null) line.max = Math.min(line.max ?? limit.max, limit.max);
    if (status === 'processing') {
      line.running += 1;
      line.runningCost += cost;
    } else line.waiting = Math.min(line.waiting + 1, mostWaiting);
  }
  return [...found.values()].sort(byGroupAndKey).slice(0, mostLines);
}

function byGroupAndKey(a: LimitState, b: LimitState): number {
  return compare(a.group, b.group) || compare(a.key ?? '', b.key ?? '');
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const nameOf = ({ group, key }: JobLimit): string => JSON.stringify([group, key]);
