import { fileURLToPath } from 'node:url';
import { hasErrorCode } from '../../internal/errors.js';
import { maskUrl } from '../../internal/logger.js';
import { settingFlag } from '../../internal/settings.js';
import { Pool, type PoolEnd } from '../../worker/pool/pool.js';
import { reportOf } from '../../worker/run-report.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes, workerExitCodeOf } from '../exit-codes.js';
import { HubProcess } from '../hub-process.js';
import { listenSettingNames } from '../hub-settings.js';
import { ProcessWatch, type StopSignal } from '../process-watch.js';
import { type Setup, setUp } from '../session.js';
import { addSettingOptions, settingFlags } from '../setting-options.js';
import { poolSettingNames, poolSizeOf } from '../supervise.js';
import { workerLogger, workerLogSettings } from '../worker-log.js';
import { workerSettingNames } from '../worker-settings.js';

type Flags = Readonly<Record<string, unknown>>;

/** What the worker is started with too. */
const passedOn = [...workerSettingNames, ...poolSettingNames];
const names = [...listenSettingNames, ...passedOn];
const entry = fileURLToPath(new URL('../main.js', import.meta.url));

export const up: CommandSpec<Flags> = {
  name: 'up',
  summary: 'run a hub and a worker on this machine',
  details:
    'All that one machine needs: the HTTP API, and a worker that takes its jobs from it, over a SQLite file that is made where there is none; or over any other database. ' +
    'A worker that crashes is started again; a hub that ends takes the command down.\n' +
    'TERM or INT: running jobs may end within the stop timeout, then the hub ends; a second signal does that at once.\n' +
    'Exit: 0 stopped, 64 cannot be configured, 70 an exception, 75 could not get on (a taken port, an unmigrated schema), 130 or 143 forced by a signal.',
  examples: ['millrace up', 'millrace up --port 8080 --concurrency 20'],
  addOptions(command) {
    addSettingOptions(command, names);
  },
  async run(context, _args, flags) {
    const given = settingFlags(flags, names);
    try {
      const setup = await setUp(context, given);
      poolSizeOf(setup.settings.values);
      return await new Up(context, setup, given).run();
    } catch (error) {
      context.terminal.fail(error, context.global.debug === true);
      return hasErrorCode(error, 'usage-invalid') ? exitCodes.usage : workerExitCodeOf(error);
    }
  },
};

class Up {
  readonly #context: CommandContext;
  readonly #setup: Setup;
  readonly #logger: ReturnType<typeof workerLogger>;
  readonly #hub: HubProcess;
  readonly #given: Flags;
  #pool: Pool | null = null;

  constructor(context: CommandContext, setup: Setup, given: Flags) {
    this.#context = context;
    this.#setup = setup;
    this.#given = given;
    this.#logger = workerLogger(workerLogSettings(setup, 'info'));
    this.#hub = new HubProcess(setup, this.#logger);
  }

  async run(): Promise<number> {
    const { terminal } = this.#context;
    const abort = new AbortController();
    using watch = new ProcessWatch({
      logger: this.#logger,
      onSignal: (signal) => this.#onSignal(signal, abort),
      onCrash: () => this.#onSignal('SIGTERM', abort),
    });
    let end: PoolEnd | null = null;
    let failure: unknown = null;
    try {
      this.#logger.info('starting', { database: maskUrl(this.#setup.database) });
      const url = await this.#hub.start();
      if (!terminal.isJson) terminal.line(`millrace is up on ${url}; Ctrl-C ends it`);
      if (!abort.signal.aborted) ({ end, failure } = await this.#untilEnd(url));
    } finally {
      await this.#hub.stop();
    }
    if (failure !== null) throw failure;
    const exit = watch.forcedCode ?? (watch.hasCrashed ? exitCodes.internal : (end?.code ?? exitCodes.ok));
    const counts = reportOf((kind) => end?.counts[kind] ?? 0);
    terminal.answer({ ...counts, exit }, () => undefined);
    return exit;
  }

  /** The worker runs until it was told to end, can't be started, or the hub has failed. */
  async #untilEnd(url: string): Promise<{ end: PoolEnd; failure: unknown }> {
    const pool = new Pool({ command: this.#workerCommand(url), logger: this.#logger });
    this.#pool = pool;
    let failure: unknown = null;
    void this.#hub.failed.then((error) => {
      failure = error;
      pool.signal('SIGTERM');
    });
    return { end: await pool.run(), failure };
  }

  #workerCommand(url: string): { file: string; args: string[]; env: NodeJS.ProcessEnv } {
    const { env, global } = this.#context;
    const flags = passedOn.flatMap((name) => {
      const value = this.#given[name];
      return value === undefined ? [] : [settingFlag(name), String(value)];
    });
    return {
      file: entry,
      args: [
        'work',
        ...['--hub', url.replace(/^http/, 'ws')],
        ...(global.config === undefined ? [] : ['--config', global.config]),
        ...(global.debug === true ? ['--debug'] : []),
        ...flags,
      ],
      env: { ...env, WORKER_SECRET: this.#hub.ownToken.text },
    };
  }

  #onSignal(signal: StopSignal, abort: AbortController): void {
    abort.abort();
    if (this.#pool === null) void this.#hub.stop(0).catch(() => undefined);
    else this.#pool.signal(signal);
  }
}
