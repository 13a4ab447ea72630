import type { RunnableJob } from '../../client/job-definition.js';
import { type LaneSizes, sizeLanes } from '../../core/lane-sizing.js';
import { type CpuBudget, readCpuBudget } from '../../internal/cpu-budget.js';
import { MillraceError } from '../../internal/errors.js';
import type { SettingValues } from '../../internal/settings.js';
import type { WorkerHost } from '../host.js';
import { ownedProcess } from '../owned-process.js';
import type { ResolvedWorkerOptions } from '../worker-options.js';
import type { LaneSource } from './lane.js';
import { laneFile } from './process/lane-file.js';
import { processLaneSource } from './process/process-lane-source.js';

/** What lanes a worker is to have. */
export interface LanePlan {
  readonly sizes: LaneSizes;
  /** Of every kind but inline, each with the lanes it is to make. */
  readonly sources: readonly LaneSource[];
  /** What could not be read of the machine, for the log. */
  readonly skipped: readonly string[];
}

/** The settings that lanes depend on. */
export type LaneSettings = Pick<
  SettingValues,
  'maxConcurrent' | 'workerCpuBudget' | 'workerLaneCores' | 'workerMaxLanes' | 'laneMaxMemoryBytes'
>;

/** Each worker of a pool has its share of the machine. */
function shared(budget: CpuBudget): CpuBudget {
  return { ...budget, cores: budget.cores / (ownedProcess()?.poolWidth ?? 1) };
}

/** @throws MillraceError `option-invalid` when jobs ask for a process lane, and the worker does not know what to load there */
export function planLanes(
  { definitions, settings, database }: Pick<WorkerHost, 'definitions' | 'settings' | 'database'>,
  options: Pick<ResolvedWorkerOptions, 'concurrency' | 'module' | 'processLanes'>,
): LanePlan {
  const { lanes } = settings;
  const names = namesOf(definitions);
  const budget =
    lanes.workerCpuBudget === 'auto'
      ? shared(readCpuBudget())
      : { cores: lanes.workerCpuBudget, skipped: [] };
  const sizes = sizeLanes({
    cpuBudget: budget.cores,
    laneCores: lanes.workerLaneCores,
    maxLanes: lanes.workerMaxLanes,
    processLanes: options.processLanes,
    hasProcessJobs: names.length > 0,
    hasInlineJobs: names.length < definitions.size,
    concurrency: options.concurrency,
    maxConcurrent: lanes.maxConcurrent === 'none' ? null : lanes.maxConcurrent,
  });
  const skipped = names.length > 0 ? budget.skipped : [];
  if (sizes.process === 0) return { sizes, sources: [], skipped };
  const { module, file } = whatToLoad(options.module, names);
  const source = processLaneSource({
    size: sizes.process,
    file,
    module,
    names,
    maxMemoryBytes: lanes.laneMaxMemoryBytes,
    database: database?.url ?? null,
    settings: settings.values,
  });
  return { sizes, sources: [source], skipped };
}

function namesOf(definitions: ReadonlyMap<string, RunnableJob>): string[] {
  return [...definitions.values()].filter(({ lane }) => lane === 'process').map(({ name }) => name);
}

function whatToLoad(module: string | null, names: readonly string[]): { module: string; file: string } {
  const which = `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
  if (module === null) {
    throw new MillraceError(
      'option-invalid',
      `jobs that ask for a process lane (${which}) run in child processes, which load the module that makes this worker: expected option "module", got none. Pass it: worker({ module: import.meta.url }), or processLanes: 0 to leave those jobs to others`,
      { details: { names } },
    );
  }
  const file = laneFile();
  if (file === null) {
    throw new MillraceError(
      'option-invalid',
      `jobs that ask for a process lane (${which}) need files of the package beside its code, which is not so in a bundle. Leave millrace out of the bundle (external), or pass processLanes: 0 to leave those jobs to others`,
      { details: { names } },
    );
  }
  return { module, file };
}
