import { isServed, servedQueues } from '../../internal/queue-selection.js';
import type { QueueStats } from '../../storage/job-record.js';
import { runReport } from '../../worker/run-report.js';
import type { Worker } from '../../worker/worker.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { runWorker } from '../run-worker.js';
import { openSession, type Setup, setUp } from '../session.js';
import { addSettingOptions, settingFlags } from '../setting-options.js';
import { countsText } from '../settled-counts.js';
import { logSetup, workerLogger, workerLogSettings } from '../worker-log.js';
import { workerSettingNames } from '../worker-settings.js';

type Flags = Readonly<Record<string, unknown>>;

const progressEveryMs = 200;

export const flush: CommandSpec<Flags> = {
  name: 'flush',
  summary: 'run everything that is due, then end',
  details:
    'Also what becomes due meanwhile; no retry and no delayed job is waited for. failed: due again later; buried: out of attempts; ' +
    'put back: not run to its end and not charged. Exit 0, also when jobs failed.',
  examples: ['millrace flush', 'millrace flush --queue media,default --json'],
  addOptions(command) {
    addSettingOptions(command, workerSettingNames);
  },
  async run(context, _args, flags) {
    const setup = await setUp(context, settingFlags(flags, workerSettingNames));
    // A server that is away is told at once; only a worker waits for it.
    await (await openSession(context, { mustExist: false }))[Symbol.asyncDispose]();
    const log = workerLogSettings(setup, 'warn');
    const logger = workerLogger(log);
    logSetup(setup, logger);
    const { worker, forcedBy } = await runWorker({
      setup,
      log,
      logger,
      env: context.env,
      until: (running) => idleWithProgress(context, running),
    });
    const counts = runReport(worker.counts);
    context.terminal.endProgress();
    await noteOtherQueues(context, setup);
    context.terminal.answer(counts, () => context.terminal.line(countsText(counts)));
    return forcedBy === null ? exitCodes.ok : 128 + forcedBy;
  },
};

async function idleWithProgress({ terminal }: CommandContext, worker: Worker): Promise<undefined> {
  const timer = setInterval(() => {
    terminal.progress(`${countsText(runReport(worker.counts))}, ${worker.running} running`);
  }, progressEveryMs);
  try {
    await worker.idle();
  } finally {
    clearInterval(timer);
  }
}

/** Due jobs that stay since they are in queues that were not asked for. */
async function noteOtherQueues(context: CommandContext, { settings }: Setup): Promise<void> {
  await using session = await openSession(context);
  const served = servedQueues(settings.values.queue);
  const isLeft = ({ queue, claimable }: QueueStats): boolean => claimable > 0 && !isServed(served, queue);
  const left = (await session.client.stats()).filter(isLeft).map(({ queue }) => queue);
  if (left.length === 0) return;
  context.terminal.note(`due jobs wait in other queues; run: millrace flush --queue ${left.join(',')}`);
}
