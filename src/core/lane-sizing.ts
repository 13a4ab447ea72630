/** How many process lanes: by the processors there are, or exactly so many. */
export type LaneWish = number | 'auto';

export interface LaneSizing {
  /** Cores that this worker may use, above 0; need not be whole. */
  readonly cpuBudget: number;
  /** Cores that one lane is reckoned to need. */
  readonly laneCores: number;
  /** The most lanes that `auto` makes. */
  readonly maxLanes: number;
  readonly processLanes: LaneWish;
  /** A loaded handler asks for a process lane; without one there are none. */
  readonly hasProcessJobs: boolean;
  /** A loaded handler runs inline. */
  readonly hasInlineJobs: boolean;
  /** Inline jobs at once, where there is no cap. */
  readonly concurrency: number;
  /** Caps the jobs at once over all kinds of lanes, in place of `concurrency` and of the reckoning by processors; null: no cap. */
  readonly maxConcurrent: number | null;
}

export interface LaneSizes {
  readonly process: number;
  readonly inline: number;
  /** Jobs at once over all kinds; null: the sum of both. */
  readonly cap: number | null;
  /** For the log: `lanes: 2 (cpu budget 8 ÷ 4 cores per lane, max 2); inline 10`. */
  readonly text: string;
}

/** clamp(⌊budget ÷ cores per lane⌋, 1, max): a lane of its own is worth having also where it must share a core. */
export function lanesByCpu(sizing: Pick<LaneSizing, 'cpuBudget' | 'laneCores' | 'maxLanes'>): number {
  const { cpuBudget, laneCores, maxLanes } = sizing;
  return Math.max(Math.min(Math.floor(cpuBudget / laneCores), maxLanes), 1);
}

/**
 * The lanes of a worker. Process lanes by `auto` exist where a loaded handler asks for one; under a cap, which turns the
 * reckoning off, `auto` is then one lane. Lanes asked for are filled first, inline gets the rest of the cap, and at least
 * one slot where a handler needs it: the cap itself is what holds at run time.
 */
export function sizeLanes(sizing: LaneSizing): LaneSizes {
  const { maxConcurrent: cap, concurrency, hasInlineJobs } = sizing;
  const process = processLanes(sizing);
  if (cap === null) {
    const lanes = process === 0 ? '' : `${laneText(sizing, process)}; `;
    return { process, inline: concurrency, cap, text: `lanes: ${lanes}inline ${concurrency}` };
  }
  const inline = Math.max(cap - process, hasInlineJobs ? 1 : 0);
  const split = process === 0 ? '' : `; process ${process}, inline ${inline}`;
  return { process, inline, cap, text: `lanes: ${cap} (MAX_CONCURRENT)${split}` };
}

function processLanes(sizing: LaneSizing): number {
  const { processLanes: wish, hasProcessJobs, maxConcurrent: cap } = sizing;
  if (!hasProcessJobs) return 0;
  if (wish !== 'auto') return cap === null ? wish : Math.min(wish, cap);
  return cap === null ? lanesByCpu(sizing) : 1;
}

function laneText({ processLanes, cpuBudget, laneCores, maxLanes }: LaneSizing, lanes: number): string {
  if (processLanes !== 'auto') return `${lanes} (as asked for)`;
  return `${lanes} (cpu budget ${round(cpuBudget)} ÷ ${round(laneCores)} cores per lane, max ${maxLanes})`;
}

const round = (value: number): number => Math.round(value * 100) / 100;
