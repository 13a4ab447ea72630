import { writeFileSync } from 'node:fs';
import type { Logger } from '../../internal/logger.js';
import { exitThroughMain } from './main-inspector.js';

/** EX_TEMPFAIL of sysexits: it could not go on, and a new start may help. */
export const couldNotProgress = 75;

/** Main has this long to run the exit before the process is killed. */
const exitDeadlineMs = 2_000;

/** What a process leaves behind that killed itself, for whoever started it. */
export interface LastWords {
  readonly pid: number;
  /** Epoch ms by the clock of the machine. */
  readonly atMs: number;
  readonly reason: string;
}

export interface SelfKillOptions {
  readonly reason: string;
  /** @default 75 */
  readonly code?: number;
  /** Where the reason is left; null: nowhere. */
  readonly file: string | null;
  readonly logger: Logger;
}

/**
 * Ends this process from a thread beside a main loop that does not turn: by an exit on main, else by SIGKILL. (An exit in
 * a thread would end that thread alone.)
 */
export async function killSelf(options: SelfKillOptions): Promise<void> {
  const { reason, code = couldNotProgress, file, logger } = options;
  logger.error(`self-kill: ${reason}, ending the process with ${code}`);
  const words: LastWords = { pid: process.pid, atMs: Date.now(), reason };
  try {
    if (file !== null) writeFileSync(file, `${JSON.stringify(words)}\n`);
  } catch (error) {
    logger.warn('the reason could not be left in a file', { file, error });
  }
  await exitThroughMain(code, exitDeadlineMs);
  process.kill(process.pid, 'SIGKILL');
}
