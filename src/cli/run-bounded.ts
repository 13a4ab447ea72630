import { monotonicMs } from '../worker/monotonic.js';
import { runReport, type TickReport } from '../worker/run-report.js';
import { untilIdle } from '../worker/run-until-idle.js';
import type { CommandContext } from './command.js';
import { exitCodes } from './exit-codes.js';
import { runWorker } from './run-worker.js';
import { openSession, type Setup } from './session.js';
import { countsText } from './settled-counts.js';
import { logSetup, workerLogger, workerLogSettings } from './worker-log.js';

export interface BoundedRun {
  readonly budgetMs: number;
  /** Null: as many as the time allows. */
  readonly mostJobs: number | null;
}

/**
 * Recovery, then jobs that are due, within a budget of time; for commands that something else starts again and again.
 * Answers with the exit code: 0 also when nothing was due or jobs failed.
 */
export async function runBounded(
  context: CommandContext,
  setup: Setup,
  { budgetMs, mostJobs }: BoundedRun,
): Promise<number> {
  const endsAtMs = monotonicMs() + budgetMs;
  // A server that is away is told at once; only a worker waits for it.
  await (await openSession(context, { mustExist: false }))[Symbol.asyncDispose]();
  const log = workerLogSettings(setup, 'warn');
  const logger = workerLogger(log);
  logSetup(setup, logger);
  let isTimeUp = false;
  const { worker, forcedBy, recovered, hasCrashed } = await runWorker({
    setup,
    log,
    logger,
    bounds: { endsAtMs, mostJobs },
    env: context.env,
    until: async (running) => {
      isTimeUp = (await untilIdle(running, { endsAtMs })) === 'time';
      return isTimeUp ? { deadlineMs: 0 } : undefined;
    },
  });
  const nothing = { retried: {}, buried: {}, ended: 0, waiting: 0 };
  const report: TickReport = {
    ...runReport(worker.counts),
    recovered: recovered ?? nothing,
    timeIsUp: isTimeUp,
  };
  context.terminal.answer(report, () => context.terminal.line(reportText(report)));
  if (forcedBy !== null) return 128 + forcedBy;
  return hasCrashed ? exitCodes.internal : exitCodes.ok;
}

function reportText({ recovered, timeIsUp, ...counts }: TickReport): string {
  const taken = sum(recovered.retried) + sum(recovered.buried) + recovered.ended;
  return [
    countsText(counts),
    ...(taken > 0 ? [`${taken} taken back from workers that are gone`] : []),
    ...(timeIsUp ? ['its time was over'] : []),
  ].join('; ');
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);
