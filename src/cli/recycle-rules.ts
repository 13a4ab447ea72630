import { totalmem } from 'node:os';
import { recycleMemoryShare } from '../core/admission.js';
import { widestPool } from '../core/pool-size.js';
import type { RecycleRules } from '../core/recycle.js';
import { MillraceError } from '../internal/errors.js';
import { type SettingValues, settings } from '../internal/settings.js';
import { poolSizeOf } from './supervise.js';

export const neverRecycle: RecycleRules = {
  jobs: { value: 0, isExplicit: true },
  memory: { value: 0, isExplicit: true },
};

/** On a storage link a claim costs little, so a process is kept longer than behind a hub. */
const defaultJobs = { storage: 1_000, hub: 200 } as const;
const megabyte = 1024 ** 2;

/**
 * When `millrace work` makes room for a fresh process.
 *
 * @throws MillraceError `settings-invalid` for a memory limit that this process is above already: it would end at once, for ever
 */
export function recycleRules(values: SettingValues): RecycleRules {
  const { recycleAfterJobs, workerMaxMemory, hubUrl } = values;
  const isJobsSet = recycleAfterJobs !== 'auto';
  const isMemorySet = workerMaxMemory !== 'auto';
  const memory = isMemorySet
    ? workerMaxMemory * megabyte
    : defaultMemoryBytes(widestPool(poolSizeOf(values)));
  const usedBytes = process.memoryUsage.rss();
  if (isMemorySet && memory > 0 && usedBytes >= memory) {
    throw new MillraceError(
      'settings-invalid',
      `${settings.workerMaxMemory.env}: expected more MB than a worker uses before its first job, got ${workerMaxMemory} at ${Math.ceil(usedBytes / megabyte)} MB. Raise it, or set it to 0 for no limit`,
      { details: { limitMb: workerMaxMemory, usedMb: Math.ceil(usedBytes / megabyte) } },
    );
  }
  return {
    jobs: {
      value: isJobsSet ? recycleAfterJobs : defaultJobs[hubUrl.length > 0 ? 'hub' : 'storage'],
      isExplicit: isJobsSet,
    },
    memory: { value: memory, isExplicit: isMemorySet },
  };
}

/** Of what the container may use, or the machine has, for one of so many workers. */
function defaultMemoryBytes(workers: number): number {
  const constrained = process.constrainedMemory();
  // Without a limit it is 0, or more than any machine has.
  const available = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.floor((available * recycleMemoryShare) / workers);
}
