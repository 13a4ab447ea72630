import { errorCodes } from '../../internal/error-codes.js';
import { isMillraceError } from '../../internal/errors.js';
import { printable } from '../../internal/printable.js';
import type { Diagnosis } from '../../storage/diagnosis.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { diagnoseClock, diagnoseDatabase } from '../doctor/diagnose-database.js';
import { diagnoseJobs } from '../doctor/diagnose-jobs.js';
import { diagnoseLimits } from '../doctor/diagnose-limits.js';
import { diagnoseSetup } from '../doctor/diagnose-setup.js';
import { exitCodes } from '../exit-codes.js';
import type { Terminal } from '../output/terminal.js';
import { wrapText } from '../output/wrap-text.js';
import { openSession, type Session, type Setup, setUp } from '../session.js';

export const doctor: CommandSpec = {
  name: 'doctor',
  summary: 'check config, database, workers and queues',
  details: 'Changes nothing. Exit 1 when a check fails; a warning is no failure.',
  examples: ['millrace doctor', 'millrace doctor --json'],
  async run(context) {
    const checks = await allChecks(context);
    const isHealthy = checks.every(({ status }) => status !== 'fail');
    context.terminal.answer({ ok: isHealthy, checks }, () => print(context.terminal, checks));
    return isHealthy ? exitCodes.ok : exitCodes.failed;
  },
};

/** What can't be looked at any more since something before it failed is left out. */
async function allChecks(context: CommandContext): Promise<Diagnosis[]> {
  let setup: Setup;
  try {
    setup = await setUp(context);
  } catch (error) {
    return [failed('config and settings', error)];
  }
  // What speaks to a Chrome is loaded by who looks for one.
  const { diagnoseBrowser } = await import('../doctor/diagnose-browser.js');
  const checks = [...diagnoseSetup(setup), ...diagnoseLimits(setup), ...(await diagnoseBrowser(setup))];
  let session: Session;
  try {
    session = await openSession(context);
  } catch (error) {
    return [...checks, failed('database', error)];
  }
  await using open = session;
  const parts = [
    () => diagnoseDatabase(open),
    () => diagnoseClock(open),
    () => diagnoseJobs(open),
    async () => (await open.storage.diagnose?.()) ?? [],
  ];
  for (const part of parts) {
    try {
      checks.push(...(await part()));
    } catch (error) {
      checks.push(failed('database', error));
    }
  }
  return checks;
}

function failed(check: string, error: unknown): Diagnosis {
  if (!isMillraceError(error)) throw error;
  return { check, status: 'fail', message: error.message, fix: errorCodes[error.code].fix };
}

/** With less beside the names of the checks, their text goes below them. */
const leastTextWidth = 40;

function print(terminal: Terminal, checks: readonly Diagnosis[]): void {
  const { style } = terminal;
  const paint = { ok: style.good, warn: style.warning, fail: style.bad };
  const width = Math.max(...checks.map(({ check }) => check.length));
  for (const { check, status, message, fix } of checks) {
    const text = printable(message.replaceAll('\n', '; '));
    const head = `${paint[status](status.padEnd(4))}  ${check.padEnd(width)}`;
    const isNarrow = terminal.width - width - 8 < leastTextWidth;
    const indent = ' '.repeat(isNarrow ? 6 : width + 8);
    const [first = '', ...rest] = wrapText(text, terminal.width - indent.length);
    if (isNarrow) terminal.line(head.trimEnd());
    terminal.line(isNarrow ? `${indent}${first}` : `${head}  ${first}`);
    for (const line of rest) terminal.line(`${indent}${line}`);
    if (fix === null) continue;
    const fixes = wrapText(printable(fix), terminal.width - indent.length - 'fix: '.length);
    for (const [index, line] of fixes.entries()) {
      terminal.line(`${indent}${index === 0 ? style.dim('fix:') : '    '} ${line}`);
    }
  }
}
