import type { RecycleRules } from '../core/recycle.js';
import type { LogLevel } from '../internal/logger.js';
import type { StopTimes } from './watchdog/stop-deadline.js';

/**
 * A process that is ours to end (`millrace work`), with what its threads need to act while its main loop is blocked. The
 * process of an application that carries a worker is never touched: there nothing is owned.
 */
export interface OwnedProcess {
  /** Workers of the pool, which share the processors and the memory of the machine. */
  readonly poolWidth: number;
  /** When it makes room for a fresh one. */
  readonly recycle: RecycleRules;
  /** A main loop that does not turn for so long ends the process. */
  readonly blockedTimeoutMs: number;
  /** Where a process that kills itself leaves its reason; null: nowhere. */
  readonly lastWordsFile: string | null;
  /** How it stops by a signal. */
  readonly stop: StopTimes;
  /** Null where it was started by hand, or by a supervisor that is not ours. */
  readonly supervisor: {
    readonly pid: number;
  } | null;
  /** How lines are written to stderr. */
  readonly log: { readonly level: LogLevel; readonly json: boolean };
}

let owned: OwnedProcess | null = null;

/** Said once, by the command that runs this process, before its worker starts. */
export function ownProcess(process: OwnedProcess): void {
  owned = process;
}

/** Null where the process is another's. */
export function ownedProcess(): OwnedProcess | null {
  return owned;
}
