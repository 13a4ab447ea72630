import { type PoolSize, poolSize } from '../core/pool-size.js';
import { MillraceError } from '../internal/errors.js';
import { resolveSettings, type SettingName, type SettingValues, settingFlag } from '../internal/settings.js';
import { SignalEcho } from '../internal/signal-echo.js';
import { Pool, type PoolSignal } from '../worker/pool/pool.js';
import { reportOf } from '../worker/run-report.js';
import type { CommandContext } from './command.js';
import { exitCodes } from './exit-codes.js';
import { workerLogger } from './worker-log.js';

/** The settings of a pool that `work` takes as flags. */
export const poolSettingNames: readonly SettingName[] = ['workers', 'minWorkers', 'maxWorkers', 'targetWait'];

/** @throws MillraceError `usage-invalid` where they do not fit together */
export function poolSizeOf(values: SettingValues): PoolSize {
  const size = poolSize(values);
  if (size.kind !== 'wrong') return size;
  const names = poolSettingNames.map(settingFlag).join(', ');
  throw new MillraceError('usage-invalid', `${size.problem}. See ${names}`);
}

/**
 * Keeps the worker processes of this command line alive until it is told to stop. It loads no config, which is code of the
 * user's: flags and environment are checked here, the rest by the first worker.
 */
export async function supervise(
  context: CommandContext,
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { values } = resolveSettings({ flags, env: context.env });
  poolSizeOf(values);
  const [, file = '', ...args] = process.argv;
  const pool = new Pool({
    command: { file, args, env: context.env },
    logger: workerLogger({ level: values.logLevel, json: values.logFormat === 'json' }),
  });
  const echo = new SignalEcho();
  const onSignal = (signal: PoolSignal): void => {
    if (!echo.isEcho()) pool.signal(signal);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const { code, counts } = await pool.run();
    // What a worker that could not be started had to say, it has said.
    if (code === exitCodes.badConfiguration || code === exitCodes.noProgress) return code;
    context.terminal.answer({ ...reportOf((kind) => counts[kind] ?? 0), exit: code }, () => undefined);
    return code;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
