import type { RunnableJob } from '../../client/job-definition.js';
import { type LaneMemory, type LaneSizes, sizeLanes } from '../../core/lane-sizing.js';
import { readTextBelow } from '../../internal/cgroup-levels.js';
import { type CpuBudget, readCpuBudget } from '../../internal/cpu-budget.js';
import { MillraceError } from '../../internal/errors.js';
import type { SettingValues } from '../../internal/settings.js';
import { readSystemMemory } from '../../internal/system-memory.js';
import type { WorkerHost } from '../host.js';
import { ownedProcess } from '../owned-process.js';
import type { ResolvedWorkerOptions } from '../worker-options.js';
import type { BrowserHere } from './browser-kind.js';
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
  /** What they would be, were they made now. */
  readonly sizesNow: () => LaneSizes;
}

/** The settings that lanes depend on. */
export type LaneSettings = Pick<
  SettingValues,
  | 'maxConcurrent'
  | 'workerCpuBudget'
  | 'workerLaneCores'
  | 'workerMaxLanes'
  | 'laneMaxMemoryBytes'
  | 'chromePath'
  | 'browserPrivateTargets'
>;

/** Each worker of a pool has its share of the machine. */
function shared(budget: CpuBudget): CpuBudget {
  return { ...budget, cores: budget.cores / (ownedProcess()?.poolWidth ?? 1) };
}

/** Null: unknown, as on systems that do not tell. */
function browserMemory(browser: BrowserHere | null): LaneMemory | null {
  const memory = readSystemMemory(readTextBelow('/'));
  if (browser === null || memory === null) return null;
  const limitBytes = memory.totalBytes / (ownedProcess()?.poolWidth ?? 1);
  return { limitBytes, perLaneBytes: browser.perLaneBytes };
}

export type PlanOptions = Pick<
  ResolvedWorkerOptions,
  'concurrency' | 'module' | 'processLanes' | 'browserLanes'
>;

/** What this machine has for the browser lanes that a worker asks for; null where it asks for none. */
export async function prepareBrowser(
  { settings, logger, loadBrowserKind }: Pick<WorkerHost, 'settings' | 'logger' | 'loadBrowserKind'>,
  { browserLanes, hub }: Pick<ResolvedWorkerOptions, 'browserLanes' | 'hub'>,
  signal: AbortSignal,
): Promise<BrowserHere | null> {
  if (browserLanes === 0 || loadBrowserKind === undefined) return null;
  const { chromePath, browserPrivateTargets: privateTargets } = settings.lanes;
  const kind = await loadBrowserKind();
  const path = chromePath === 'auto' ? null : chromePath;
  return kind.prepare({ chromePath: path, privateTargets, hubs: hub?.urls ?? [], logger, signal });
}

/** @throws MillraceError `option-invalid` when jobs ask for a process lane, and the worker does not know what to load there */
export function planLanes(
  host: Pick<WorkerHost, 'definitions' | 'settings' | 'database'>,
  options: PlanOptions,
  browser: BrowserHere | null = null,
): LanePlan {
  const names = namesOf(host.definitions);
  const { sizes, skipped } = sizesHere(host, options, browser);
  const sources = [
    ...(sizes.process === 0 ? [] : [processSource(host, { size: sizes.process, names, ...options })]),
    ...(sizes.browser === 0 || browser === null ? [] : [browser.source(sizes.browser)]),
  ];
  return { sizes, sources, skipped, sizesNow: () => sizesHere(host, options, browser).sizes };
}

/** What lanes the machine is good for as it is now. */
function sizesHere(
  { definitions, settings: { lanes } }: Pick<WorkerHost, 'definitions' | 'settings'>,
  options: PlanOptions,
  browser: BrowserHere | null,
): Pick<LanePlan, 'sizes' | 'skipped'> {
  const hasProcessJobs = namesOf(definitions).length > 0;
  const budget =
    lanes.workerCpuBudget === 'auto'
      ? shared(readCpuBudget())
      : { cores: lanes.workerCpuBudget, skipped: [] };
  const sizes = sizeLanes({
    cpuBudget: budget.cores,
    laneCores: lanes.workerLaneCores,
    maxLanes: lanes.workerMaxLanes,
    processLanes: options.processLanes,
    hasProcessJobs,
    browserLanes: browser === null ? 0 : options.browserLanes,
    browserMemory: browserMemory(browser),
    hasInlineJobs: [...definitions.values()].some(({ lane }) => lane === 'inline'),
    concurrency: options.concurrency,
    maxConcurrent: lanes.maxConcurrent === 'none' ? null : lanes.maxConcurrent,
  });
  return { sizes, skipped: hasProcessJobs || sizes.browser > 0 ? budget.skipped : [] };
}

interface ProcessLanes {
  readonly size: number;
  readonly names: readonly string[];
  readonly module: string | null;
}

function processSource(
  { settings, database }: Pick<WorkerHost, 'settings' | 'database'>,
  { size, names, module: given }: ProcessLanes,
): LaneSource {
  const { module, file } = whatToLoad(given, names);
  return processLaneSource({
    size,
    file,
    module,
    names,
    maxMemoryBytes: settings.lanes.laneMaxMemoryBytes,
    database: database?.url ?? null,
    settings: settings.values,
  });
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
