import type { Budgets } from '../job-limit.js';
import { Occupancy } from '../occupancy.js';
import { plainArray } from './arrays.js';
import type { BoundLine } from './line-book.js';

/** Gates that concern some lines and queues, each once, in ascending order. */
export interface Gates {
  /** Of groups and keys, with the gate of the whole group. */
  readonly keyed: ReadonlyMap<number, number>;
  /** Of groups with a budget. */
  readonly groups: ReadonlyMap<number, { readonly group: string; readonly budget: number }>;
  /** Of queues with a budget. */
  readonly queues: ReadonlyMap<number, { readonly queue: string; readonly budget: number }>;
}

export function gatesOf(
  lines: Iterable<BoundLine | null>,
  queueGates: ReadonlyMap<string, number>,
  budgets: Budgets,
): Gates {
  const keyed = new Map<number, number>();
  const groups = new Map<number, { group: string; budget: number }>();
  for (const line of lines) {
    if (line === null || line.gate === null || line.groupId === null) continue;
    keyed.set(line.gate, line.groupId);
    const group = line.bounds.limit?.group ?? '';
    if (Object.hasOwn(budgets.groups, group))
      groups.set(line.groupId, { group, budget: budgets.groups[group] ?? 0 });
  }
  const queues = new Map(
    [...queueGates].map(([queue, gate]) => [gate, { queue, budget: budgets.queues[queue] ?? 0 }]),
  );
  return { keyed, groups, queues };
}

/** As the parameters of `loads`: gates and their groups, groups, queues. */
export function gateValues({ keyed, groups, queues }: Gates): unknown[] {
  return [
    plainArray([...keyed.keys()]),
    plainArray([...keyed.values()]),
    plainArray([...groups.keys()]),
    plainArray([...queues.keys()]),
  ];
}

interface Load {
  readonly kind: number;
  readonly gate: number;
  readonly running: number;
  readonly most: number | null;
  readonly cost: number;
  /** Null where the gate has gone. */
  readonly served: number | null;
}

function parse(text: string | null): Load[] {
  if (text === null) return [];
  return text.split(',').map((row) => {
    const [kind, gate, running, most, cost, served] = row.split(' ');
    return {
      kind: Number(kind),
      gate: Number(gate),
      running: Number(running),
      most: most === '' ? null : Number(most),
      cost: Number(cost),
      served: served === '' ? null : Number(served),
    };
  });
}

/** What runs, in words of the seam; null when a gate has gone, so that nothing may be taken by what is remembered. */
export function occupancyOf(
  text: string | null,
  gates: Gates,
  { lines, budgets }: { lines: Iterable<BoundLine | null>; budgets: Budgets },
): Occupancy | null {
  const occupancy = new Occupancy(budgets);
  const byGate = new Map(parse(text).map((load) => [load.kind === 0 ? 0 : load.gate, load]));
  for (const gate of [...gates.keyed.keys(), ...gates.groups.keys(), ...gates.queues.keys()]) {
    const load = byGate.get(gate);
    if (load === undefined || load.served === null) return null;
  }
  const noted = new Set<number>();
  for (const line of lines) {
    const limit = line?.bounds.limit ?? null;
    if (line === null || limit === null || line.gate === null || noted.has(line.gate)) continue;
    noted.add(line.gate);
    const load = byGate.get(line.gate);
    const isFirstOfGroup = line.groupId !== null && !noted.has(-line.groupId);
    if (line.groupId !== null) noted.add(-line.groupId);
    occupancy.note(limit, {
      running: load?.running ?? 0,
      leastMax: load?.most ?? null,
      cost: isFirstOfGroup ? (byGate.get(line.groupId ?? 0)?.cost ?? 0) : 0,
      turn: load?.served ?? 0,
    });
  }
  for (const [gate, { queue }] of gates.queues) occupancy.noteQueue(queue, byGate.get(gate)?.cost ?? 0);
  return occupancy;
}
