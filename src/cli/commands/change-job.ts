import type { Command } from 'commander';
import type { Millrace } from '../../client/millrace.js';
import type { ControlOutcome } from '../../storage/settlement.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { whereHelp } from '../parse-where.js';
import { checkJobId, noSuchJob, resolveJobId } from '../resolve-job-id.js';
import { openSession, type Session } from '../session.js';
import { changeByFilter, isByFilter, type WhereFlags } from './change-where.js';

type Change = 'retry' | 'bury' | 'cancel' | 'delete' | 'edit';

const done: Record<Change, string> = {
  retry: 'is due again, with a fresh set of attempts',
  bury: 'is buried',
  cancel: 'is cancelled',
  delete: 'is deleted',
  edit: 'is edited',
};

const requested: Record<Change, string> = {
  retry: 'will be retried',
  bury: 'is running; it was asked to stop and will be buried then',
  cancel: 'is running; it was asked to stop and will be cancelled then',
  delete: 'is running; it was asked to stop and will be deleted then',
  edit: 'is running and was left as it is',
};

interface Changed {
  readonly id: string;
  readonly outcome: ControlOutcome;
}

interface EachChange {
  readonly change: Change;
  readonly apply: (client: Millrace, id: string) => Promise<ControlOutcome>;
}

export async function changeEach(
  context: CommandContext,
  ids: readonly string[],
  { change, apply }: EachChange,
): Promise<number> {
  for (const id of ids) checkJobId(id);
  await using session = await openSession(context);
  const full: string[] = [];
  for (const id of ids) full.push(await resolveJobId(session.storage, id));
  const changed: Changed[] = [];
  for (const id of new Set(full)) changed.push({ id, outcome: await apply(session.client, id) });
  context.terminal.answer({ jobs: changed }, () => {
    for (const { id, outcome } of changed) {
      if (outcome === 'done') context.terminal.line(`job ${id} ${done[change]}`);
      if (outcome === 'requested') context.terminal.line(`job ${id} ${requested[change]}`);
    }
  });
  return await tellRefusals(context, { session, changed, change });
}

/** Says on stderr what was not done, and why. */
async function tellRefusals(
  { terminal }: CommandContext,
  { session, changed, change }: { session: Session; changed: readonly Changed[]; change: Change },
): Promise<number> {
  let exitCode: number = exitCodes.ok;
  for (const { id, outcome } of changed) {
    if (outcome === 'done' || outcome === 'requested') continue;
    exitCode = exitCodes.failed;
    const status = outcome === 'not-found' ? null : ((await session.client.job(id))?.status ?? null);
    terminal.note(`millrace: ${refusal({ id, outcome, change, status })}`);
  }
  return exitCode;
}

function refusal(about: {
  readonly id: string;
  readonly outcome: ControlOutcome;
  readonly change: Change;
  readonly status: string | null;
}): string {
  const { id, outcome, change, status } = about;
  if (outcome === 'not-found' || status === null) return `${noSuchJob(id).message} [job-not-found]`;
  if (outcome === 'duplicate') {
    return `job ${id} was not retried: another job holds its unique key. Wait for that one to end, or cancel it [duplicate]`;
  }
  if (outcome === 'already-final') {
    const fix = status === 'completed' ? 'It can only be deleted' : 'It can be retried or deleted';
    return `job ${id} has ended already, it is ${status}. ${fix} [job-already-final]`;
  }
  const fixes: Partial<Record<Change, string>> = {
    retry: 'Only a buried, cancelled or pending job can be retried',
    edit: 'Only a job that waits can be edited, and the due time only of a pending one',
  };
  const fix = fixes[change] ?? `It can't be changed by ${change}`;
  return `job ${id} is ${status}. ${fix} [transition-illegal]`;
}

const about = 'A job is named by its id, or by the last 6 or more characters of it.';

/** `--where`, `--dry-run` and `--yes`. */
export function addWhereOptions(command: Command): void {
  command
    .option('--where <terms>', 'every job that fits, as in status=buried,error~timeout', collect)
    .option('--dry-run', 'say how many would be changed, show some, and change nothing')
    .option('--yes', 'change them all');
}

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

interface SpecTexts {
  readonly summary: string;
  readonly details: string;
  readonly example: string;
}

function changeSpec(
  change: 'retry' | 'bury' | 'cancel' | 'delete',
  texts: SpecTexts,
): CommandSpec<WhereFlags> {
  return {
    name: `${change} [id...]`,
    summary: texts.summary,
    details: `${texts.details}\n${about}\n${whereHelp}`,
    examples: [`millrace ${change} 7f3a9c21b0de`, texts.example],
    addOptions: addWhereOptions,
    run: (context, ids, flags) =>
      isByFilter(ids, flags)
        ? changeByFilter(context, change, { flags })
        : changeEach(context, ids, { change, apply: (client, id) => client[change](id) }),
  };
}

export const retry = changeSpec('retry', {
  summary: 'make buried or cancelled jobs due again',
  details: 'The job gets a fresh set of attempts and keeps its failures. A pending job becomes due now.',
  example: 'millrace retry --where status=buried,error~timeout --dry-run',
});
export const bury = changeSpec('bury', {
  summary: 'put jobs aside, kept for inspection',
  details: 'A running job is asked to stop and is buried then.',
  example: 'millrace bury --where name=import,tag=customer-7 --dry-run',
});
export const cancel = changeSpec('cancel', {
  summary: 'call jobs off',
  details: 'A running job is asked to stop and is cancelled then.',
  example: 'millrace cancel --where queue=media,tag=import-7 --yes',
});
export const remove = changeSpec('delete', {
  summary: 'remove jobs with their log',
  details:
    'A running job is asked to stop and is deleted then. Jobs that wait for it are treated as after a cancel.',
  example: 'millrace delete --where status=buried,ended-before=30d --dry-run',
});
