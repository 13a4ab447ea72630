/** How many lanes of a kind: by what the machine has, or exactly so many. */
export type LaneWish = number | 'auto';

export interface LaneSizing {
  /** Cores that this worker may use, above 0; need not be whole. */
  readonly cpuBudget: number;
  /** Cores that one lane is reckoned to need. */
  readonly laneCores: number;
  /** The most lanes of a kind that `auto` makes. */
  readonly maxLanes: number;
  readonly processLanes: LaneWish;
  /** A loaded handler asks for a process lane; without one there are none. */
  readonly hasProcessJobs: boolean;
  readonly browserLanes: LaneWish;
  /** Null: it is not known how much memory there is. */
  readonly browserMemory: LaneMemory | null;
  /** A loaded handler runs inline. */
  readonly hasInlineJobs: boolean;
  /** Inline jobs at once, where there is no cap. */
  readonly concurrency: number;
  /** Caps the jobs at once over all kinds of lanes, in place of `concurrency` and of the reckoning by processors; null: no cap. */
  readonly maxConcurrent: number | null;
}

export interface LaneMemory {
  /** That this worker may use. */
  readonly limitBytes: number;
  /** What one lane is reckoned to need. */
  readonly perLaneBytes: number;
}

export interface LaneSizes {
  readonly process: number;
  readonly browser: number;
  readonly inline: number;
  /** Jobs at once over all kinds; null: the sum of all. */
  readonly cap: number | null;
  /** For the log: `lanes: 2 (cpu budget 8 ÷ 4 cores per lane, max 2); inline 10`. */
  readonly text: string;
}

const megabyte = 1024 ** 2;
/** What the worker itself needs beside its lanes, and how much of the limit may be planned for. */
const workerBytes = 300 * megabyte;
const plannedShare = 0.8;

/** clamp(⌊budget ÷ cores per lane⌋, 1, max): a lane of its own is worth having also where it must share a core. */
export function lanesByCpu(sizing: Pick<LaneSizing, 'cpuBudget' | 'laneCores' | 'maxLanes'>): number {
  const { cpuBudget, laneCores, maxLanes } = sizing;
  return Math.max(Math.min(Math.floor(cpuBudget / laneCores), maxLanes), 1);
}

/** ⌊(limit × 0.8 − 300 MB) ÷ memory per lane⌋, at least 1. */
export function lanesByMemory({ limitBytes, perLaneBytes }: LaneMemory): number {
  return Math.max(Math.floor((limitBytes * plannedShare - workerBytes) / perLaneBytes), 1);
}

/**
 * The lanes of a worker. Process lanes by `auto` exist where a loaded handler asks for one; under a cap, which turns the
 * reckoning off, `auto` is then one lane of a kind. Lanes asked for by number are filled first, inline gets the rest of the
 * cap, and each kind that is wanted gets at least one slot: the cap itself is what holds at run time.
 */
export function sizeLanes(sizing: LaneSizing): LaneSizes {
  const { maxConcurrent: cap, concurrency, hasInlineJobs } = sizing;
  const { process, browser } = cap === null ? reckoned(sizing) : capped(sizing, cap);
  if (cap === null) {
    const text = `lanes: ${processText(sizing, process)}${browserText(sizing, browser)}inline ${concurrency}`;
    return { process, browser, inline: concurrency, cap, text };
  }
  const inline = Math.max(cap - process - browser, hasInlineJobs ? 1 : 0);
  const parts = [
    ...(process === 0 ? [] : [`process ${process}`]),
    ...(browser === 0 ? [] : [`browser ${browser}`]),
  ];
  const split = parts.length === 0 ? '' : `; ${[...parts, `inline ${inline}`].join(', ')}`;
  return { process, browser, inline, cap, text: `lanes: ${cap} (MAX_CONCURRENT)${split}` };
}

interface Split {
  readonly process: number;
  readonly browser: number;
}

function wishes({ processLanes, hasProcessJobs, browserLanes }: LaneSizing) {
  return { process: hasProcessJobs ? processLanes : 0, browser: browserLanes };
}

function reckoned(sizing: LaneSizing): Split {
  const { process, browser } = wishes(sizing);
  const byCpu = lanesByCpu(sizing);
  const { browserMemory } = sizing;
  const byMemory = browserMemory === null ? byCpu : lanesByMemory(browserMemory);
  return {
    process: process === 'auto' ? byCpu : process,
    browser: browser === 'auto' ? Math.min(byCpu, byMemory) : browser,
  };
}

function capped(sizing: LaneSizing, cap: number): Split {
  const wish = wishes(sizing);
  const process = wish.process === 'auto' ? 1 : Math.min(wish.process, cap);
  const asked = wish.process === 'auto' ? 0 : process;
  const browser = wish.browser === 'auto' ? 1 : Math.min(wish.browser, Math.max(cap - asked, 1));
  return { process, browser };
}

function processText(sizing: LaneSizing, lanes: number): string {
  if (lanes === 0) return '';
  return `${lanes} (${sizing.processLanes === 'auto' ? cpuText(sizing) : 'as asked for'}); `;
}

function browserText(sizing: LaneSizing, lanes: number): string {
  if (lanes === 0) return '';
  if (sizing.browserLanes !== 'auto') return `browser ${lanes} (as asked for); `;
  const byCpu = lanesByCpu(sizing);
  const { browserMemory } = sizing;
  const memory =
    browserMemory === null || lanes === byCpu
      ? ''
      : `; memory ${megabytes(browserMemory.limitBytes)} at ${megabytes(browserMemory.perLaneBytes)} per lane lowers it from ${byCpu}`;
  return `browser ${lanes} (${cpuText(sizing)}${memory}); `;
}

function cpuText({ cpuBudget, laneCores, maxLanes }: LaneSizing): string {
  return `cpu budget ${round(cpuBudget)} ÷ ${round(laneCores)} cores per lane, max ${maxLanes}`;
}

const megabytes = (bytes: number): string => `${Math.round(bytes / megabyte)} MB`;
const round = (value: number): number => Math.round(value * 100) / 100;
