/** How many worker processes a supervisor keeps. */
export type PoolSize =
  | { readonly kind: 'fixed'; readonly workers: number }
  | {
      readonly kind: 'adaptive';
      readonly min: number;
      readonly max: number;
      /** Size by the time to clear the backlog, ms; null: by its length. */
      readonly targetWaitMs: number | null;
    };

export interface PoolSizeSettings {
  readonly workers: number | 'none';
  readonly minWorkers: number | 'none';
  readonly maxWorkers: number | 'none';
  /** Ms; 0: none was asked for. */
  readonly targetWaitMs: number;
}

/** A pool of one where nothing was asked for; else what is wrong with what was asked for. */
export function poolSize(
  settings: PoolSizeSettings,
): PoolSize | { readonly kind: 'wrong'; readonly problem: string } {
  const { workers, minWorkers, maxWorkers, targetWaitMs } = settings;
  if (minWorkers === 'none' && maxWorkers === 'none') {
    if (targetWaitMs > 0)
      return wrong('a target wait sizes an adaptive pool: give the maximum of workers too');
    return { kind: 'fixed', workers: workers === 'none' ? 1 : workers };
  }
  if (workers !== 'none')
    return wrong(
      'a pool is either of a fixed number of workers or between a minimum and a maximum, not both',
    );
  if (maxWorkers === 'none') return wrong('a minimum of workers needs a maximum');
  const min = minWorkers === 'none' ? 1 : minWorkers;
  if (min > maxWorkers) return wrong(`the minimum of workers (${min}) is above the maximum (${maxWorkers})`);
  return { kind: 'adaptive', min, max: maxWorkers, targetWaitMs: targetWaitMs > 0 ? targetWaitMs : null };
}

const wrong = (problem: string): { readonly kind: 'wrong'; readonly problem: string } => ({
  kind: 'wrong',
  problem,
});

/** The most worker processes there will be, which share the processors and the memory of the machine. */
export const widestPool = (size: PoolSize): number => (size.kind === 'fixed' ? size.workers : size.max);
