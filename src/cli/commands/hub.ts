import { maskUrl } from '../../internal/logger.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes, workerExitCodeOf } from '../exit-codes.js';
import { HubProcess } from '../hub-process.js';
import { hubSettingNames } from '../hub-settings.js';
import { ProcessWatch } from '../process-watch.js';
import { type Setup, setUp } from '../session.js';
import { addSettingOptions, settingFlags } from '../setting-options.js';
import { workerLogger, workerLogSettings } from '../worker-log.js';

type Flags = Readonly<Record<string, unknown>>;

export const hub: CommandSpec<Flags> = {
  name: 'hub',
  summary: 'serve the HTTP API, and workers without a database',
  details:
    'Workers reach it by "millrace work --hub ws://host:8000" (HUB_URL) and need no access to the database. Run as many hubs over one database as you like. ' +
    'A database that is away is waited for. Beyond loopback it refuses to listen while no token exists: millrace token create --role admin --name <who>.\n' +
    'A config is loaded where there is one; then inputs of jobs are checked as they come in.\n' +
    'TERM or INT: its workers are sent to another hub and all sockets closed within 5 seconds; their jobs run on.\n' +
    'Exit: 0 stopped, 64 cannot be configured, 70 an exception, 75 could not get on (a taken port, an unmigrated schema), 130 or 143 forced by a signal.',
  examples: ['millrace hub', 'millrace hub --host 0.0.0.0 --port 8080'],
  addOptions(command) {
    addSettingOptions(command, hubSettingNames);
  },
  async run(context, _args, flags) {
    try {
      return await serve(context, await setUp(context, settingFlags(flags, hubSettingNames)));
    } catch (error) {
      context.terminal.fail(error, context.global.debug === true);
      return workerExitCodeOf(error);
    }
  },
};

async function serve(context: CommandContext, setup: Setup): Promise<number> {
  const logger = workerLogger(workerLogSettings(setup, 'info'));
  for (const warning of setup.settings.warnings) logger.warn(warning);
  const hub = new HubProcess(setup, logger);
  let tellAsked: () => void = () => undefined;
  const asked = new Promise<null>((resolve) => {
    tellAsked = () => resolve(null);
  });
  using watch = new ProcessWatch({
    logger,
    onSignal: (signal) => {
      // The second one is in a hurry, and the third does not wait at all.
      if (watch.signals > 2) process.exit(watch.forcedCode ?? exitCodes.failed);
      if (watch.signals === 1) logger.info(`${signal}: sending workers to another hub`);
      else void hub.stop(0).catch(() => undefined);
      tellAsked();
    },
    onCrash: tellAsked,
  });
  let failure: unknown = null;
  try {
    logger.info('starting', { jobs: setup.jobs.length, database: maskUrl(setup.database) });
    await hub.start();
    failure = await Promise.race([hub.failed, asked]);
  } finally {
    await hub.stop();
  }
  if (failure !== null) throw failure;
  const exit = watch.forcedCode ?? (watch.hasCrashed ? exitCodes.internal : exitCodes.ok);
  logger.info('hub: stopped');
  context.terminal.answer({ exit }, () => undefined);
  return exit;
}
