import { pathToFileURL } from 'node:url';
import { Millrace } from '../client/millrace.js';
import { widestPool } from '../core/pool-size.js';
import { hasErrorCode } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import type { StopOptions } from '../internal/service.js';
import type { RescueReport } from '../maintenance/rescuer.js';
import { type OwnedProcess, ownProcess } from '../worker/owned-process.js';
import type { RunBounds } from '../worker/run-bounds.js';
import type { Worker } from '../worker/worker.js';
import { joinPool, stopWithinMs } from './pool-membership.js';
import { neverRecycle, recycleRules } from './recycle-rules.js';
import type { Setup } from './session.js';
import { StopWatch } from './stop-watch.js';
import { poolSizeOf } from './supervise.js';

export interface WorkerRun {
  readonly worker: Worker;
  /** The number of the signal that forced the end; null when it went as it should. */
  readonly forcedBy: number | null;
  /** Something threw outside of any handler's own promise. */
  readonly hasCrashed: boolean;
  /** What was taken back first; null where that was not asked for. */
  readonly recovered: RescueReport | null;
}

export interface RunWorkerOptions {
  readonly setup: Setup;
  /** How lines are written to stderr, by the worker's thread too. */
  readonly log: OwnedProcess['log'];
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** It keeps its id over restarts, and ends by itself to make room for a fresh process. @default false */
  readonly isLasting?: boolean;
  /** Runs once the worker does; the worker is stopped when it resolves, as it says. */
  readonly until: (worker: Worker, stopped: Promise<void>) => Promise<StopOptions | undefined>;
  /** For a run with an end, which takes back expired leases before it begins. */
  readonly bounds?: RunBounds;
}

/**
 * Starts a worker of the config in this process, and stops it by signal or when `until` resolves. The first TERM or INT
 * lets running jobs end within the stop timeout, the second aborts them; what could not end is put back uncharged.
 */
export async function runWorker(options: RunWorkerOptions): Promise<WorkerRun> {
  const { setup, log, logger, until, bounds, env, isLasting = false } = options;
  const { values } = setup.settings;
  const pool = joinPool(setup, env);
  ownProcess({
    poolWidth: widestPool(poolSizeOf(values)),
    recycle: isLasting ? recycleRules(values) : neverRecycle,
    blockedTimeoutMs: values.blockedTimeoutMs,
    lastWordsFile: pool?.place.lastWordsFile ?? null,
    stop: { timeoutMs: values.stopTimeoutMs, withinMs: stopWithinMs(setup) },
    supervisor: pool === null ? null : { pid: pool.place.supervisor },
    log,
  });
  const client = new Millrace({ database: setup.database, jobs: setup.jobs, settings: values, logger });
  const worker = client.worker({
    stopTimeout: values.stopTimeoutMs,
    duties: setup.duties,
    // A run with an end begins with what only the database can tell.
    ...(isLasting ? { stateDir: setup.stateDir } : { hub: 'none' }),
    ...(setup.config === null ? {} : { module: pathToFileURL(setup.config.file) }),
  });
  const stop = new StopWatch(worker, logger);
  let recovered: RescueReport | null = null;
  try {
    pool?.member.follow(worker, client, (reason) => stop.drain(reason));
    if (bounds !== undefined) {
      worker.setBounds(bounds);
      recovered = await client.recover();
    }
    await worker.start();
    const end = await Promise.race([
      until(worker, stop.asked),
      stop.asked.then(() => undefined),
      worker.ended().then(() => undefined),
    ]);
    await worker.stop(end ?? stop.patience);
  } catch (error) {
    if (!(stop.isAsked && isGivenUp(error))) throw error;
  } finally {
    await client.close();
    pool?.member.tellEnded(worker.counts.all);
    pool?.member[Symbol.dispose]();
    stop[Symbol.dispose]();
  }
  return { worker, forcedBy: stop.forcedBy, hasCrashed: stop.hasCrashed, recovered };
}

/** How a start ends that was called off. */
function isGivenUp(error: unknown): boolean {
  return hasErrorCode(error, 'closed') || (error instanceof Error && error.name === 'AbortError');
}
