/** What a browser lane does about what it sees: numbers and rules, no clocks. */

const megabyte = 1024 ** 2;

/** Beyond it one page is ended. */
export const rendererMostBytes = 1_536 * megabyte;
/** Beyond it the whole Chrome is ended: resident memory of its group, in which shared pages count once for each process. */
export const chromeMostBytes = 2_560 * megabyte;
/** A page that grows so fast, twice in a row, is ended once it is half way to its most. */
export const growthMostBytesPerSecond = 300 * megabyte;

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

/** Of samples of one job, in order; the newest is judged. */
export function judgeMemory(samples: readonly MemorySample[]): MemoryVerdict {
  const last = samples.at(-1);
  if (last === undefined) return 'fine';
  if (last.chromeBytes > chromeMostBytes) return 'end-chrome';
  if (last.rendererBytes > rendererMostBytes) return 'end-renderer';
  const isLarge = last.rendererBytes > rendererMostBytes / 2;
  return isLarge && growsTooFast(samples.slice(-3)) ? 'end-renderer' : 'fine';
}

function growsTooFast(samples: readonly MemorySample[]): boolean {
  if (samples.length < 3) return false;
  return samples.slice(1).every((sample, index) => {
    const before = samples[index] as MemorySample;
    const seconds = Math.max(sample.atMs - before.atMs, 1) / 1000;
    return (sample.rendererBytes - before.rendererBytes) / seconds > growthMostBytesPerSecond;
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

/** Why a Chrome without a job is replaced by a new one, in words; null: it goes on. */
export function whyRestart({ jobs, ageMs, crashes }: ChromeLife, limits: LifeLimits): string | null {
  if (crashes >= crashesBeforeRestart) return `had ${crashes} pages that crashed`;
  if (jobs >= limits.jobs) return `has run ${jobs} jobs`;
  if (ageMs >= limits.ageMs) return `is ${Math.round(ageMs / 60_000)} minutes old`;
  return null;
}
