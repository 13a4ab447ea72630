/** Runs worlds, one seed after the other, and adds up what happened in them. */
import { workerStates } from '../../src/core/worker-lifecycle.js';
import type { Plant } from './planted.js';
import { World, type WorldReport } from './world.js';

export interface Simulation {
  readonly seeds: number;
  readonly failed: readonly WorldReport[];
  /** How often each transition, fault and order occurred over all worlds. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface SimulateOptions {
  readonly from: number;
  readonly seeds: number;
  readonly plant?: Plant;
  readonly trace?: (line: string) => void;
  readonly onWorld?: (report: WorldReport) => void;
}

/** What must have happened at least once in a run of many seeds: else it shows nothing about it. */
export const mustOccur: readonly string[] = [
  'new → STARTING',
  'STARTING → REGISTER',
  'REGISTER → RUNNING',
  'REGISTER → DRAINING',
  'RUNNING → RECONNECTING',
  'RUNNING → DRAINING',
  'RECONNECTING → RUNNING',
  'RECONNECTING → DRAINING',
  'DRAINING → RUNNING',
  'DRAINING → EXIT',
  'fault: clock step',
  'fault: crash',
  'fault: cut off',
  'fault: fail after commit',
  'fault: fail before',
  'fault: freeze',
  'fault: outage',
  'fault: slow',
  'fault: wake-up doubled',
  'fault: wake-up lost',
  'operator: bury done',
  'operator: bury requested',
  'operator: cancel done',
  'operator: cancel requested',
  'operator: retry done',
  'order: active',
  'order: drain',
  'order: recycle',
  'order: standby',
  'pause of a queue',
  'stop and start',
  'taken back: died',
  'taken back: lapsed',
];

/** Every state must be met. */
export const statesMet = (counts: ReadonlyMap<string, number>): boolean =>
  workerStates.every((state) => [...counts.keys()].some((key) => key.endsWith(`→ ${state}`)));

export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { from, seeds, plant, trace, onWorld } = options;
  const counts = new Map<string, number>();
  const failed: WorldReport[] = [];
  for (let seed = from; seed < from + seeds; seed += 1) {
    const world = new World({
      seed,
      ...(plant === undefined ? {} : { plant }),
      ...(trace === undefined ? {} : { trace }),
    });
    const report = await world.run();
    for (const [what, count] of report.counts) counts.set(what, (counts.get(what) ?? 0) + count);
    if (report.violations.length > 0) failed.push(report);
    onWorld?.(report);
  }
  return { seeds, failed, counts };
}
