import { writeSync } from 'node:fs';
import { createLineLogger, type Logger, type LogLevel } from '../internal/logger.js';
import type { Setup } from './session.js';

/** The log of a command that runs jobs, on stderr; `quietest` holds unless a setting says otherwise. */
export function workerLogger({ settings }: Setup, quietest: LogLevel): Logger {
  const { values, sources } = settings;
  return createLineLogger({
    level: sources.logLevel === 'default' ? quietest : values.logLevel,
    json: values.logFormat === 'json',
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
