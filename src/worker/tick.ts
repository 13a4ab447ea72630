import { withDeadline } from '../internal/deadline.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import type { RescueReport } from '../maintenance/rescuer.js';
import { monotonicMs } from './monotonic.js';
import { type RunReport, runReport, type TickReport } from './run-report.js';
import { runUntilIdle } from './run-until-idle.js';
import type { Worker } from './worker.js';
import type { WorkerOptions } from './worker-options.js';

export interface FlushOptions extends Omit<WorkerOptions, 'queues'> {
  /** Ends it before its time: running jobs may end within the stop timeout. */
  readonly signal?: AbortSignal;
}

export interface TickOptions extends FlushOptions, Pick<WorkerOptions, 'queues'> {
  /** How long the whole may take; what still runs then is aborted and has the kill grace. At least 1 ms. @default 50 s */
  readonly budget?: Duration;
}

export const defaultBudget = '50s';

/** Everything that is due now, until nothing is left that could run. */
export async function flush(worker: Worker, signal?: AbortSignal): Promise<RunReport> {
  await runUntilIdle(worker, { endsAtMs: null, signal });
  return runReport(worker.counts);
}

export interface TickParts {
  readonly recover: () => Promise<RescueReport>;
  readonly createWorker: (options: WorkerOptions) => Worker;
}

/** Recovery, and then what is due, within a budget. */
export async function tick(parts: TickParts, options: TickOptions): Promise<TickReport> {
  const { budget = defaultBudget, signal, ...workerOptions } = options;
  const ms = parseDuration(budget, { name: 'option "budget"', min: 1 });
  const endsAtMs = monotonicMs() + ms;
  const worker = parts.createWorker(workerOptions);
  worker.setBounds({ endsAtMs, mostJobs: null });
  const recovered = await withDeadline(parts.recover(), { ms, name: 'the recovery of a tick', signal });
  const end = await runUntilIdle(worker, { endsAtMs, signal });
  return { ...runReport(worker.counts), recovered, timeIsUp: end === 'time' };
}
