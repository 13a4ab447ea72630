import { writeSync } from 'node:fs';
import { createLineLogger, type Logger, type LogLevel } from '../internal/logger.js';
import type { Setup } from './session.js';

/** How the lines of a command that runs jobs are written; `quietest` holds unless a setting says otherwise. */
export function workerLogSettings(
  { settings }: Setup,
  quietest: LogLevel,
): { level: LogLevel; json: boolean } {
  const { values, sources } = settings;
  const level = sources.logLevel === 'default' ? quietest : values.logLevel;
  return { level, json: values.logFormat === 'json' };
}

/** The log of such a command, on stderr. */
export function workerLogger(settings: { readonly level: LogLevel; readonly json: boolean }): Logger {
  return createLineLogger({
    ...settings,
    write: (line) => writeSync(process.stderr.fd, `${line}\n`),
  });
}

/** What a worker should say of its setup before it starts. */
export function logSetup(setup: Setup, logger: Logger): void {
  for (const warning of setup.settings.warnings) logger.warn(warning);
  if (setup.jobs.length > 0) return;
  // That a worker without jobs runs none is its own to say; here it is said why it has none.
  if (setup.config !== null) logger.warn(`${setup.config.file} lists no jobs`);
  else logger.warn('no millrace.config.ts was found from here upward; "millrace init" writes one');
}
