import type { Chosen } from '../choose-jobs.js';
import type { ClaimRequest } from '../claimed-job.js';
import { plainArray, textArray } from './arrays.js';
import type { LineSource, SourceJob } from './line-source.js';
import { type Gates, gateValues } from './loads.js';

interface Choice {
  readonly chosen: readonly Chosen<SourceJob>[];
  readonly gates: Gates;
  readonly queueGates: ReadonlyMap<string, number>;
  /** Per take, as a parameter. */
  readonly names: Buffer;
}

interface Wish {
  readonly source: LineSource;
  wanted: number;
  starting: number;
}

/** What was chosen as the parameters of `take`, but for the offset: how many of each line, and what to lock and count. */
export function takeValues(request: ClaimRequest, { chosen, gates, queueGates, names }: Choice): unknown[] {
  const wishes = wishesOf(chosen);
  const own = usedGates(wishes, gates, queueGates);
  const turns = request.alone ? new Map<number, number>() : turnsOf(chosen);
  const bounds = wishes.map(({ source }) => source.bound?.bounds);
  const groups = [...own.groups.values()];
  return [
    request.token,
    request.workerId,
    Math.round(request.leaseMs),
    textArray(wishes.map(({ source }) => source.queue)),
    plainArray(wishes.map(({ source }) => source.line)),
    plainArray(wishes.map(({ source }) => source.take + 1)),
    plainArray(wishes.map(({ wanted }) => wanted)),
    plainArray(wishes.map(({ starting }) => starting)),
    plainArray(wishes.map(({ source }) => source.bound?.gate ?? null)),
    plainArray(wishes.map(({ source }) => budgetGate(source, own))),
    plainArray(wishes.map(({ source }) => queueGates.get(source.queue) ?? null)),
    plainArray(bounds.map((bound) => bound?.limit?.max ?? null)),
    plainArray(bounds.map((bound) => bound?.cost ?? 1)),
    names,
    plainArray([...new Set([...own.keyed.keys(), ...own.groups.keys(), ...own.queues.keys()])]),
    ...gateValues(own).slice(0, 3),
    plainArray(groups.map(({ budget }) => budget)),
    ...gateValues(own).slice(3),
    plainArray([...own.queues.values()].map(({ budget }) => budget)),
    plainArray([...turns.keys()]),
    plainArray([...turns.values()]),
  ];
}

function wishesOf(chosen: readonly Chosen<SourceJob>[]): Wish[] {
  const wishes = new Map<LineSource, Wish>();
  for (const { job, started } of chosen) {
    const wish = wishes.get(job.source) ?? { source: job.source, wanted: 0, starting: 0 };
    wish.wanted += 1;
    if (started) wish.starting += 1;
    wishes.set(job.source, wish);
  }
  return [...wishes.values()];
}

/** Gates of lines that nothing is wanted of need no lock. */
function usedGates(wishes: readonly Wish[], gates: Gates, queueGates: ReadonlyMap<string, number>): Gates {
  const keyed = new Set(wishes.map(({ source }) => source.bound?.gate));
  const groups = new Set(wishes.map(({ source }) => source.bound?.groupId));
  const queues = new Set(wishes.map(({ source }) => queueGates.get(source.queue)));
  return {
    keyed: new Map([...gates.keyed].filter(([gate]) => keyed.has(gate))),
    groups: new Map([...gates.groups].filter(([gate]) => groups.has(gate))),
    queues: new Map([...gates.queues].filter(([gate]) => queues.has(gate))),
  };
}

function budgetGate({ bound }: LineSource, { groups }: Gates): number | null {
  const group = bound?.groupId ?? null;
  return group !== null && groups.has(group) ? group : null;
}

/** By gate, the place of the last turn that its key has among what was chosen. */
function turnsOf(chosen: readonly Chosen<SourceJob>[]): Map<number, number> {
  const turns = new Map<number, number>();
  for (const [index, { job }] of chosen.entries()) {
    const gate = job.source.bound?.gate ?? null;
    if (gate !== null) turns.set(gate, index);
  }
  return turns;
}
