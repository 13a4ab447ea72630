import { hasErrorCode, MillraceError } from '../../internal/errors.js';
import { maskUrl } from '../../internal/logger.js';
import { formatQueueSelection } from '../../internal/queue-selection.js';
import { settingFlag } from '../../internal/settings.js';
import { poolPlace } from '../../worker/pool/pool-member.js';
import { runReport } from '../../worker/run-report.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes, workerExitCodeOf } from '../exit-codes.js';
import { runBounded } from '../run-bounded.js';
import { runWorker, type WorkerRun } from '../run-worker.js';
import { type Setup, setUp } from '../session.js';
import { addSettingOptions, settingFlags } from '../setting-options.js';
import { poolSettingNames, supervise } from '../supervise.js';
import { logSetup, workerLogger, workerLogSettings } from '../worker-log.js';
import { workerSettingNames } from '../worker-settings.js';

const workSettingNames = [...workerSettingNames, ...poolSettingNames, 'hubUrl'] as const;

type Flags = Readonly<Record<string, unknown>> & { readonly once?: boolean };

export const work: CommandSpec<Flags> = {
  name: 'work',
  summary: 'run jobs until it is told to stop',
  details:
    'TERM or INT: running jobs may end within the stop timeout, the rest is put back uncharged; a second signal does ' +
    'that at once. A database or hub that is away is waited for.\n' +
    '--hub: takes jobs from a hub and never opens the database; WORKER_SECRET is its token there.\n' +
    '--once: takes back expired leases and runs at most one job, within --max-execution-time; nothing starts that could not ' +
    'end by then. Exit 0, also when nothing was due.\n' +
    'Without it the worker ends by itself to make room for a fresh process (WORKER_RECYCLE_AFTER_JOBS, MILLRACE_WORKER_MAX_MEMORY, an operator), and the supervisor starts that.\n' +
    'Exit: 0 stopped or recycled, 64 cannot be configured, 70 an exception of its code, 75 could not get on (an unmigrated schema), 130 or 143 forced by a signal.',
  examples: [
    'millrace work',
    'millrace work --queue critical,default --concurrency 20',
    'millrace work --queue critical:6,default:3',
    'WORKER_SECRET=… millrace work --hub ws://hub:8000',
    'millrace work --once',
  ],
  addOptions(command) {
    command.option('--once', 'run at most one job that is due, then end');
    addSettingOptions(command, workSettingNames);
    command.option(
      '--no-supervisor',
      'run the worker in this very process, for a container or a service that starts it again',
    );
  },
  async run(context, _args, flags) {
    const given = settingFlags(flags, workSettingNames);
    const isMember = poolPlace(context.env) !== null;
    const isSupervisor = flags['supervisor'] !== false && !isMember;
    try {
      if (flags.once === true) return await once(context, given);
      if (isSupervisor) return await supervise(context, given);
      return await runIt(context, await setUp(context, given));
    } catch (error) {
      context.terminal.fail(error, context.global.debug === true);
      return isSupervisor && hasErrorCode(error, 'usage-invalid') ? exitCodes.usage : workerExitCodeOf(error);
    }
  },
};

/** @throws MillraceError `usage-invalid` where it was told of a pool or a hub too */
async function once(context: CommandContext, given: Readonly<Record<string, unknown>>): Promise<number> {
  const pool = poolSettingNames.find((name) => given[name] !== undefined);
  if (pool !== undefined) {
    throw new MillraceError(
      'usage-invalid',
      `--once runs one job in this process, so ${settingFlag(pool)} can't stand beside it. Leave out one of the two`,
    );
  }
  if (given['hubUrl'] !== undefined) {
    throw new MillraceError(
      'usage-invalid',
      '--once takes back expired leases first, which needs the database, so --hub can’t stand beside it. Leave out one of the two',
    );
  }
  const setup = await setUp(context, given);
  return runBounded(context, setup, { budgetMs: setup.settings.values.maxExecutionTimeMs, mostJobs: 1 });
}

const untilStopped = async (_worker: unknown, stopped: Promise<void>): Promise<undefined> => {
  await stopped;
};

async function runIt(context: CommandContext, setup: Setup): Promise<number> {
  const log = workerLogSettings(setup, 'info');
  const logger = workerLogger(log);
  logSetup(setup, logger);
  const { queue, hubUrl } = setup.settings.values;
  logger.info('starting', {
    queues: formatQueueSelection(queue),
    jobs: setup.jobs.length,
    ...(hubUrl.length > 0 ? { hub: hubUrl.join(',') } : { database: maskUrl(setup.database) }),
  });
  const run = await runWorker({ setup, log, logger, env: context.env, isLasting: true, until: untilStopped });
  const counts = runReport(run.worker.counts);
  logger.info(`drain: done, jobs_done=${run.worker.counts.ended}, exiting`);
  // A pool answers for all its workers.
  if (poolPlace(context.env) === null)
    context.terminal.answer({ ...counts, exit: exitCodeOfRun(run) }, () => undefined);
  return exitCodeOfRun(run);
}

function exitCodeOfRun({ forcedBy, hasCrashed }: WorkerRun): number {
  if (forcedBy !== null) return 128 + forcedBy;
  return hasCrashed ? exitCodes.internal : exitCodes.ok;
}
