import type { JobHandle } from '../../client/job-handle.js';
import { parsePriority } from '../../core/priority.js';
import { parseDuration } from '../../internal/duration.js';
import { hasErrorCode, isMillraceError, type MillraceError } from '../../internal/errors.js';
import { printableJson } from '../../internal/printable.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { readPayload } from '../read-payload.js';
import { resolveJobId } from '../resolve-job-id.js';
import { openSession, type Session } from '../session.js';

interface Flags {
  readonly payload?: string;
  readonly queue?: string;
  readonly priority?: string;
  readonly delay?: string;
  readonly attempts?: string;
  readonly unique?: true | string;
  readonly after?: readonly string[];
  readonly wait?: true | string;
}

export const dispatch: CommandSpec<Flags> = {
  name: 'dispatch <name>',
  summary: 'dispatch a job',
  details:
    'Where the config lists jobs, the name must be one of them and the payload must fit its schema.\n' +
    'With --wait the command ends when the job does: exit 0 when it completed, 1 when not.',
  examples: [
    'millrace dispatch thumbnail --payload \'{"file":"cat.png","width":320}\'',
    'millrace dispatch report --payload @input.json --delay 5m --priority high',
    'millrace dispatch thumbnail --payload @cat.json --wait 30s',
  ],
  addOptions(command) {
    command
      .option('--payload <json>', 'the input: JSON, @file, or - for standard input (default: null)')
      .option('--queue <name>', 'instead of the queue of its definition')
      .option('--priority <priority>', 'low, normal, high, urgent or -100 to 100')
      .option('--delay <duration>', 'due so long from now, as in 5m')
      .option('--attempts <n>', 'failed attempts after which it is buried')
      .option('--unique [key]', 'at most one at a time with this key, or with this input')
      .option('--after <ids>', 'run once these jobs have completed (commas, or again)', collectIds)
      .option('--wait [duration]', 'wait for the result, at most so long');
  },
  async run(context, [name = ''], flags) {
    const timeoutMs = waitMs(flags.wait);
    const input = flags.payload === undefined ? undefined : await readPayload(flags.payload, context);
    await using session = await openSession(context, { mustExist: false });
    const options = await dispatchOptions(session, flags);
    const handle = await session.client.dispatch(name, input, options);
    if (timeoutMs !== null) return await waitForIt(context, { session, handle, name, timeoutMs });
    const { id, deduplicated } = handle;
    context.terminal.answer({ id, deduplicated }, () =>
      context.terminal.line(deduplicated ? `${name} was there before: ${id}` : `dispatched ${name}: ${id}`),
    );
    return exitCodes.ok;
  },
};

function collectIds(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',').map((id) => id.trim())];
}

/** Null: don't wait. Infinity: as long as it takes. */
function waitMs(wait: true | string | undefined): number | null {
  if (wait === undefined) return null;
  return wait === true ? Number.POSITIVE_INFINITY : parseDuration(wait, { name: '--wait', min: 1 });
}

async function dispatchOptions(session: Session, flags: Flags) {
  const { queue, priority, delay, attempts, unique, after = [] } = flags;
  const parents: string[] = [];
  for (const id of after) parents.push(await resolveJobId(session.storage, id));
  return {
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority: parsePriority(priority, '--priority') }),
    ...(delay === undefined ? {} : { delay }),
    ...(attempts === undefined
      ? {}
      : { attempts: /^\d+$/.test(attempts) ? Number(attempts) : (attempts as never) }),
    ...(unique === undefined ? {} : { unique: unique === true ? true : { key: unique } }),
    ...(parents.length === 0 ? {} : { after: parents }),
  };
}

interface Waiting {
  readonly session: Session;
  readonly handle: JobHandle;
  readonly name: string;
  readonly timeoutMs: number;
}

/** Ways a job or the waiting can end that are answers, not faults. */
const endings = [
  'result-too-large',
  'job-failed',
  'job-cancelled',
  'job-not-found',
  'result-timeout',
] as const;

async function waitForIt(context: CommandContext, waiting: Waiting): Promise<number> {
  const { session, handle, name, timeoutMs } = waiting;
  const { terminal } = context;
  const { id, deduplicated } = handle;
  terminal.note(`dispatched ${name}: ${id}, waiting`);
  const trouble = await troubleOf(handle, timeoutMs);
  const found = await session.client.job(id);
  const answer = {
    id,
    deduplicated,
    status: found?.status ?? null,
    result: found?.result ?? null,
    failures: found?.failures ?? [],
  };
  terminal.answer(answer, () => {
    if (trouble === null) terminal.line(printableJson(JSON.stringify(answer.result, null, 2)));
  });
  if (trouble === null) return exitCodes.ok;
  terminal.note(`millrace: ${trouble.message} [${trouble.code}]`);
  return answer.status === 'completed' ? exitCodes.ok : exitCodes.failed;
}

async function troubleOf(handle: JobHandle, timeoutMs: number): Promise<MillraceError | null> {
  try {
    await handle.result({ timeout: timeoutMs });
    return null;
  } catch (error) {
    if (isMillraceError(error) && endings.some((code) => hasErrorCode(error, code))) return error;
    throw error;
  }
}
