/** What a browser lane does about what it sees: numbers and rules, no clocks. */

const megabyte = 1024 ** 2;

export interface MemoryLimits {
  /** Beyond it one page is ended. */
  readonly rendererBytes: number;
  /** Beyond it the whole Chrome is ended. */
  readonly chromeBytes: number;
  /** A page that grows so fast, twice in a row, is ended once it is half way to its most. */
  readonly growthBytesPerSecond: number;
}

export const memoryLimits: MemoryLimits = {
  rendererBytes: 1_536 * megabyte,
  chromeBytes: 2_560 * megabyte,
  growthBytesPerSecond: 300 * megabyte,
};

/** A Chrome without a job that is larger, and twice as large as at its start, makes room for a new one. */
export const idleMostBytes = 600 * megabyte;

export interface PingTimes {
  readonly everyMs: number;
  readonly deadlineMs: number;
}

/** With two misses in a row, the second asked for at once, a Chrome that stands still is found within 15 s. */
export const pingTimes: PingTimes = { everyMs: 5_000, deadlineMs: 5_000 };

export interface PageTimes {
  /** Between two looks at a page. */
  readonly everyMs: number;
  /** A page that has not answered for so long is busy. */
  readonly busyMs: number;
  /** A busy one whose process then answers nothing for so long is ended. */
  readonly deadMs: number;
  /** For a handler to answer a dialog. */
  readonly dialogMs: number;
}

/** A page whose process stands still is found within 19 s; at 5 s between two looks it took 20.1 s [measured]. */
export const pageTimes: PageTimes = { everyMs: 4_000, busyMs: 10_000, deadMs: 5_000, dialogMs: 1_000 };

/** Two pings in a row without an answer. */
export const missesBeforeEnd = 2;
/** While this process itself is so late, it judges nobody. */
export const ownLagMostMs = 1_000;
export const popUpsMost = 20;
export const crashesBeforeRestart = 2;

const jobsBeforeRestart = 100;
const ageBeforeRestartMs = 60 * 60_000;
const spread = 0.2;

export interface MemorySample {
  readonly atMs: number;
  /** Of the whole group. */
  readonly chromeBytes: number;
  /** Of its largest page process. */
  readonly rendererBytes: number;
}

export type MemoryVerdict = 'fine' | 'end-renderer' | 'end-chrome';

/** What a sample comes to when shared pages count once: the same or less. */
export type MeasuredMemory = Omit<MemorySample, 'atMs'>;

/**
 * Of samples of one job, in order; the newest is judged, by what was measured of it where that is known. What is `fine` by
 * resident memory is so by any measure, so only the rest needs to be measured.
 */
export function judgeMemory(
  samples: readonly MemorySample[],
  { measured, limits = memoryLimits }: { measured?: MeasuredMemory; limits?: MemoryLimits } = {},
): MemoryVerdict {
  const last = measured ?? samples.at(-1);
  if (last === undefined) return 'fine';
  if (last.chromeBytes > limits.chromeBytes) return 'end-chrome';
  if (last.rendererBytes > limits.rendererBytes) return 'end-renderer';
  const isLarge = last.rendererBytes > limits.rendererBytes / 2;
  return isLarge && growsTooFast(samples.slice(-3), limits) ? 'end-renderer' : 'fine';
}

function growsTooFast(samples: readonly MemorySample[], { growthBytesPerSecond }: MemoryLimits): boolean {
  if (samples.length < 3) return false;
  return samples.slice(1).every((sample, index) => {
    const before = samples[index] as MemorySample;
    const seconds = Math.max(sample.atMs - before.atMs, 1) / 1000;
    return (sample.rendererBytes - before.rendererBytes) / seconds > growthBytesPerSecond;
  });
}

/** Misses in a row after one more ping; a late answer while this process itself was late says nothing. */
export function missesAfter(
  misses: number,
  ping: { readonly isAnswered: boolean; readonly ownLagMs: number },
): number {
  if (ping.isAnswered) return 0;
  return ping.ownLagMs > ownLagMostMs ? misses : misses + 1;
}

export interface ChromeLife {
  readonly jobs: number;
  readonly ageMs: number;
  readonly crashes: number;
  /** Without a job, now and at its start; null: it is small. */
  readonly idleBytes: { readonly now: number; readonly atStart: number } | null;
}

/** Drawn once for each Chrome, so that those of a worker do not restart together. */
export interface LifeLimits {
  readonly jobs: number;
  readonly ageMs: number;
}

export function drawLifeLimits(random: () => number): LifeLimits {
  const factor = (): number => 1 - spread + 2 * spread * random();
  return { jobs: Math.round(jobsBeforeRestart * factor()), ageMs: Math.round(ageBeforeRestartMs * factor()) };
}

/** Why a Chrome without a job is replaced by a new one, and whether as planned; null: it goes on. */
export function whyRestart(
  { jobs, ageMs, crashes, idleBytes }: ChromeLife,
  limits: LifeLimits,
): { readonly why: string; readonly isPlanned: boolean } | null {
  if (crashes >= crashesBeforeRestart) return { why: `had ${crashes} pages that crashed`, isPlanned: false };
  const planned = (why: string): { why: string; isPlanned: boolean } => ({ why, isPlanned: true });
  if (jobs >= limits.jobs) return planned(`has run ${jobs} jobs`);
  if (ageMs >= limits.ageMs) return planned(`is ${Math.round(ageMs / 60_000)} minutes old`);
  if (idleBytes !== null && idleBytes.now > Math.max(idleMostBytes, 2 * idleBytes.atStart))
    return planned(`has ${Math.round(idleBytes.now / megabyte)} MB of memory without a job`);
  return null;
}
