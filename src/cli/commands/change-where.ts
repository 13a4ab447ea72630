import type { BulkReport } from '../../client/bulk-control.js';
import type { EditOptions } from '../../client/edit-options.js';
import { MillraceError } from '../../internal/errors.js';
import type { CommandContext } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { Terminal } from '../output/terminal.js';
import { parseWhere } from '../parse-where.js';
import { openSession, type Session } from '../session.js';
import { columnsAt } from './jobs.js';

export type WhereChange = 'retry' | 'bury' | 'cancel' | 'delete' | 'edit';

export interface WhereFlags {
  readonly where?: readonly string[];
  readonly dryRun?: true;
  readonly yes?: true;
}

const words: Record<WhereChange, { readonly done: string; readonly plan: string }> = {
  retry: { done: 'due again', plan: 'make due again' },
  bury: { done: 'buried', plan: 'bury' },
  cancel: { done: 'cancelled', plan: 'cancel' },
  delete: { done: 'deleted', plan: 'delete' },
  edit: { done: 'edited', plan: 'edit' },
};

/** Refuses ids and a filter at once, and neither; true for a filter. */
export function isByFilter(ids: readonly string[], { where, dryRun, yes }: WhereFlags): boolean {
  const isFilter = where !== undefined;
  if (isFilter && ids.length > 0) throw usage('give ids or --where, not both');
  if (!isFilter && ids.length === 0) throw usage('expected ids of jobs, or --where');
  if (!isFilter && (dryRun === true || yes === true)) throw usage('--dry-run and --yes go with --where');
  if (dryRun === true && yes === true) throw usage('--dry-run and --yes contradict each other');
  return isFilter;
}

const usage = (text: string): MillraceError => new MillraceError('usage-invalid', text);

/** Without `--yes` it only looks; what it would do is then said, and is exit 2 unless it was asked for. */
export async function changeByFilter(
  context: CommandContext,
  change: WhereChange,
  { flags, edit }: { flags: WhereFlags; edit?: EditOptions },
): Promise<number> {
  const where = parseWhere(change, flags.where ?? []);
  await using session = await openSession(context);
  const dryRun = flags.yes !== true;
  const report =
    change === 'edit'
      ? await session.client.editMany({ where, dryRun, edit: edit ?? {} })
      : await session.client[`${change}Many`]({ where, dryRun });
  if (!dryRun || flags.dryRun === true || report.matched === 0) {
    await tell(context.terminal, session, { change, report });
    return exitCodes.ok;
  }
  throw usage(
    `this would ${words[change].plan} ${jobs(report.matched)}. Add --yes to do it, or --dry-run to see some of them`,
  );
}

async function tell(
  terminal: Terminal,
  session: Session,
  { change, report }: { change: WhereChange; report: BulkReport },
): Promise<void> {
  const nowMs = await session.storage.now();
  terminal.answer(report, () => {
    if (report.matched === 0) terminal.line('no job fits');
    else if (report.dryRun) {
      terminal.line(`would ${words[change].plan} ${jobs(report.matched)}`);
      terminal.table(report.sample, columnsAt(nowMs));
      if (report.matched > report.sample.length)
        terminal.line(`and ${report.matched - report.sample.length} more`);
    } else terminal.line(doneText(change, report));
  });
}

function doneText(change: WhereChange, { done, requested, outcomes, skipped }: BulkReport): string {
  const { duplicate = 0 } = outcomes;
  const moved = skipped - duplicate;
  return [
    `${jobs(done)} ${words[change].done}`,
    ...(requested > 0 ? [`${requested} running asked to stop`] : []),
    ...(duplicate > 0 ? [`${duplicate} left, since another job holds the unique key`] : []),
    ...(moved > 0 ? [`${moved} left, since they had moved on`] : []),
  ].join(', ');
}

const jobs = (n: number): string => `${n} ${n === 1 ? 'job' : 'jobs'}`;
