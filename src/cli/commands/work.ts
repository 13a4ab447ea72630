import { hasErrorCode } from '../../internal/errors.js';
import { maskUrl } from '../../internal/logger.js';
import { formatQueueSelection } from '../../internal/queue-selection.js';
import { poolPlace } from '../../worker/pool/pool-member.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes, workerExitCodeOf } from '../exit-codes.js';
import { runWorker, type WorkerRun } from '../run-worker.js';
import { type Setup, setUp } from '../session.js';
import { addSettingOptions, settingFlags } from '../setting-options.js';
import { settledCounts } from '../settled-counts.js';
import { poolSettingNames, supervise } from '../supervise.js';
import { logSetup, workerLogger, workerLogSettings } from '../worker-log.js';
import { workerSettingNames } from '../worker-settings.js';

type Flags = Readonly<Record<string, unknown>>;

export const work: CommandSpec<Flags> = {
  name: 'work',
  summary: 'run jobs until it is told to stop',
  details:
    'TERM or INT: running jobs may end within the stop timeout, the rest is put back uncharged; a second signal does ' +
    'that at once. A database that is away is waited for.\n' +
    'Exit: 0 stopped, 64 cannot be configured, 1 another start is needed (an unmigrated schema), 70 an exception of its code, 130 or 143 forced by a signal.',
  examples: ['millrace work', 'millrace work --queue critical,default --concurrency 20'],
  addOptions(command) {
    addSettingOptions(command, [...workerSettingNames, ...poolSettingNames]);
    command.option(
      '--no-supervisor',
      'run the worker in this very process, for a container or a service that starts it again',
    );
  },
  async run(context, _args, flags) {
    const given = settingFlags(flags, [...workerSettingNames, ...poolSettingNames]);
    const isMember = poolPlace(context.env) !== null;
    const isSupervisor = flags['supervisor'] !== false && !isMember;
    try {
      if (isSupervisor) return await supervise(context, given);
      return await runIt(context, await setUp(context, given));
    } catch (error) {
      context.terminal.fail(error, context.global.debug === true);
      return isSupervisor && hasErrorCode(error, 'usage-invalid') ? exitCodes.usage : workerExitCodeOf(error);
    }
  },
};

async function runIt(context: CommandContext, setup: Setup): Promise<number> {
  const log = workerLogSettings(setup, 'info');
  const logger = workerLogger(log);
  logSetup(setup, logger);
  logger.info('starting', {
    queues: formatQueueSelection(setup.settings.values.queue),
    jobs: setup.jobs.length,
    database: maskUrl(setup.database),
  });
  const run = await runWorker({ setup, log, logger, env: context.env, until: (_worker, stopped) => stopped });
  const counts = settledCounts(run.worker);
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
