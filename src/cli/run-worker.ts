import { pathToFileURL } from 'node:url';
import { Millrace } from '../client/millrace.js';
import { widestPool } from '../core/pool-size.js';
import { hasErrorCode } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import { type OwnedProcess, ownProcess } from '../worker/owned-process.js';
import type { Worker } from '../worker/worker.js';
import { joinPool, stopWithinMs } from './pool-membership.js';
import type { Setup } from './session.js';
import { StopWatch } from './stop-watch.js';
import { poolSizeOf } from './supervise.js';

export interface WorkerRun {
  readonly worker: Worker;
  /** The number of the signal that forced the end; null when it went as it should. */
  readonly forcedBy: number | null;
  /** Something threw outside of any handler's own promise. */
  readonly hasCrashed: boolean;
}

export interface RunWorkerOptions {
  readonly setup: Setup;
  /** How lines are written to stderr, by the worker's thread too. */
  readonly log: OwnedProcess['log'];
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Runs once the worker does; the worker is stopped when it resolves. */
  readonly until: (worker: Worker, stopped: Promise<void>) => Promise<void>;
}

/**
 * Starts a worker of the config in this process, and stops it by signal or when `until` resolves. The first TERM or INT
 * lets running jobs end within the stop timeout, the second aborts them; what could not end is put back uncharged.
 */
export async function runWorker({ setup, log, logger, env, until }: RunWorkerOptions): Promise<WorkerRun> {
  const { values } = setup.settings;
  const pool = joinPool(setup, env);
  ownProcess({
    poolWidth: widestPool(poolSizeOf(values)),
    blockedTimeoutMs: values.blockedTimeoutMs,
    lastWordsFile: pool?.place.lastWordsFile ?? null,
    supervisor: pool === null ? null : { pid: pool.place.supervisor, stopWithinMs: stopWithinMs(setup) },
    log,
  });
  const client = new Millrace({ database: setup.database, jobs: setup.jobs, settings: values, logger });
  const worker = client.worker({
    stopTimeout: values.stopTimeoutMs,
    duties: setup.duties,
    ...(setup.config === null ? {} : { module: pathToFileURL(setup.config.file) }),
  });
  const stop = new StopWatch(worker, logger);
  try {
    pool?.member.follow(worker, (reason) => stop.drain(reason));
    await worker.start();
    await Promise.race([until(worker, stop.asked), stop.asked]);
    await worker.stop(stop.patience);
  } catch (error) {
    if (!(stop.isAsked && isGivenUp(error))) throw error;
  } finally {
    await client.close();
    pool?.member.tellEnded(worker.counts.all);
    pool?.member[Symbol.dispose]();
    stop[Symbol.dispose]();
  }
  return { worker, forcedBy: stop.forcedBy, hasCrashed: stop.hasCrashed };
}

/** How a start ends that was called off. */
function isGivenUp(error: unknown): boolean {
  return hasErrorCode(error, 'closed') || (error instanceof Error && error.name === 'AbortError');
}
