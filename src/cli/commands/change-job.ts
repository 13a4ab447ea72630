import type { ControlOutcome } from '../../storage/settlement.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { checkJobId, noSuchJob, resolveJobId } from '../resolve-job-id.js';
import { openSession, type Session } from '../session.js';

type Change = 'retry' | 'bury' | 'cancel' | 'delete';

const done: Record<Change, string> = {
  retry: 'is due again, with a fresh set of attempts',
  bury: 'is buried',
  cancel: 'is cancelled',
  delete: 'is deleted',
};

const requested: Record<Change, string> = {
  retry: 'will be retried',
  bury: 'is running; it was asked to stop and will be buried then',
  cancel: 'is running; it was asked to stop and will be cancelled then',
  delete: 'is running; it was asked to stop and will be deleted then',
};

interface Changed {
  readonly id: string;
  readonly outcome: ControlOutcome;
}

async function changeJobs(context: CommandContext, ids: readonly string[], change: Change): Promise<number> {
  for (const id of ids) checkJobId(id);
  await using session = await openSession(context);
  const full: string[] = [];
  for (const id of ids) full.push(await resolveJobId(session.storage, id));
  const changed: Changed[] = [];
  for (const id of new Set(full)) changed.push({ id, outcome: await session.client[change](id) });
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
  const fix =
    change === 'retry'
      ? 'Only a buried, cancelled or pending job can be retried'
      : `It can't be changed by ${change}`;
  return `job ${id} is ${status}. ${fix} [transition-illegal]`;
}

const about = 'A job is named by its id, or by the last 6 or more characters of it.';

function changeSpec(change: Change, summary: string, details: string): CommandSpec {
  return {
    name: `${change} <id...>`,
    summary,
    details: `${details}\n${about}`,
    examples: [`millrace ${change} 7f3a9c21b0de`],
    run: (context, args) => changeJobs(context, args, change),
  };
}

export const retry = changeSpec(
  'retry',
  'make buried or cancelled jobs due again',
  'The job gets a fresh set of attempts and keeps its failures. A pending job becomes due now.',
);
export const bury = changeSpec(
  'bury',
  'put jobs aside, kept for inspection',
  'A running job is asked to stop and is buried then.',
);
export const cancel = changeSpec(
  'cancel',
  'call jobs off',
  'A running job is asked to stop and is cancelled then.',
);
export const remove = changeSpec(
  'delete',
  'remove jobs with their log',
  'A running job is asked to stop and is deleted then. Jobs that wait for it are treated as after a cancel.',
);
