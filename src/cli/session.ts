import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { JobDefinition } from '../client/job-definition.js';
import { type LoadedConfig, loadConfig } from '../client/load-config.js';
import { Millrace } from '../client/millrace.js';
import { withDeadline } from '../internal/deadline.js';
import { MillraceError } from '../internal/errors.js';
import { createLineLogger, type Logger, silentLogger } from '../internal/logger.js';
import { type ResolvedSettings, resolveSettings } from '../internal/settings.js';
import { parseDatabaseUrl } from '../storage/database-url.js';
import { createStorage, type EngineStorage } from '../storage/open-storage.js';
import type { CommandContext } from './command.js';
import { findConfig } from './find-config.js';

/** What is known before a database is touched. */
export interface Setup {
  readonly config: LoadedConfig | null;
  readonly settings: ResolvedSettings;
  /** With the path of a SQLite file made absolute. */
  readonly database: string;
  readonly jobs: readonly JobDefinition[];
  readonly duties: boolean;
  /** Where ids of workers are kept; an absolute path. */
  readonly stateDir: string;
}

/** Beyond the deadline of one statement: connecting, and a server that answers slowly. */
const openDeadlineMs = 60_000;
const closeDeadlineMs = 10_000;

/**
 * Finds and loads the config, and resolves flags, environment, config and defaults.
 *
 * @throws MillraceError `config-invalid`, `settings-invalid`, `usage-invalid`
 */
export async function setUp(
  context: CommandContext,
  flags: Readonly<Record<string, unknown>> = {},
): Promise<Setup> {
  const file = findConfig(context.cwd, context.global.config);
  const config = file === null ? null : await loadConfig(file);
  const settings = resolveSettings({
    flags: { ...flags, database: context.global.database },
    env: context.env,
    config: config?.settings,
  });
  const { sources, values } = settings;
  // What the config or nobody says is beside the config; a flag or variable is seen from where one stands.
  const folderOf = (name: 'stateDir' | 'files'): string =>
    config !== null && (sources[name] === 'config' || sources[name] === 'default')
      ? config.folder
      : context.cwd;
  const stateDir = resolve(folderOf('stateDir'), values.stateDir);
  const files = values.files === 'auto' ? join(stateDir, 'files') : resolve(folderOf('files'), values.files);
  // What stands in the config, or nowhere, means the same from every folder below it.
  const isOfConfig = sources.database === 'config' || sources.database === 'default';
  const base = isOfConfig && config !== null ? config.folder : context.cwd;
  return {
    config,
    settings: { ...settings, values: { ...values, files } },
    database: absoluteDatabase(values.database, base),
    jobs: config?.jobs ?? [],
    duties: config?.duties ?? true,
    stateDir,
  };
}

function absoluteDatabase(address: string, base: string): string {
  const parsed = parseDatabaseUrl(address);
  if (parsed.engine !== 'sqlite' || isAbsolute(parsed.file)) return address;
  return address.replace(parsed.file, () => resolve(base, parsed.file));
}

/** An open database, and a client on it. */
export class Session implements AsyncDisposable {
  readonly setup: Setup;
  readonly storage: EngineStorage;
  readonly client: Millrace;

  constructor(setup: Setup, storage: EngineStorage, logger: Logger) {
    this.setup = setup;
    this.storage = storage;
    this.client = new Millrace({
      database: storage,
      jobs: setup.jobs,
      settings: setup.settings.values,
      logger,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await withDeadline(this.storage.close(), { ms: closeDeadlineMs, name: 'closing the database' });
  }
}

export interface OpenOptions {
  /** A SQLite file that is not there is an error: looking must not create one. @default true */
  readonly mustExist?: boolean;
  /** What `setUp` had answered before. @default it is set up here */
  readonly setup?: Setup;
}

/** Sets up and opens the database at once, so that one that is away is told before anything else. */
export async function openSession(context: CommandContext, options: OpenOptions = {}): Promise<Session> {
  const setup = options.setup ?? (await setUp(context));
  if (options.mustExist !== false) requireDatabaseFile(setup.database);
  const logger = commandLogger(context);
  const storage = await createStorage(setup.database, {
    statementTimeoutMs: setup.settings.values.databaseTimeoutMs,
    logger,
  });
  try {
    await withDeadline(storage.open(), { ms: openDeadlineMs, name: 'opening the database' });
    return new Session(setup, storage, logger);
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** @throws MillraceError `database-not-found` for a SQLite file that is not there */
export function requireDatabaseFile(database: string): void {
  const parsed = parseDatabaseUrl(database);
  if (parsed.engine !== 'sqlite' || existsSync(parsed.file)) return;
  throw new MillraceError(
    'database-not-found',
    `there is no database file ${parsed.file}. Run "millrace migrate" to create it, or name another one by --database or MILLRACE_DATABASE`,
    { details: { file: parsed.file } },
  );
}

/** Commands are silent about what storage does by itself, unless asked. */
function commandLogger({ global, terminal }: CommandContext): Logger {
  if (global.debug !== true) return silentLogger;
  return createLineLogger({ write: (line) => terminal.note(line), level: 'debug' });
}
