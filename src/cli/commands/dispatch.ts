import { encodeInput } from '../../client/codec.js';
import { mostAttempts } from '../../client/define-job.js';
import type { JobHandle } from '../../client/job-handle.js';
import type { DispatchLimit } from '../../client/limit-option.js';
import { largestCost, largestMax, parseGroup } from '../../core/job-bounds.js';
import { parseJobName } from '../../core/job-name.js';
import { parseTags } from '../../core/job-tags.js';
import { describeValue } from '../../internal/describe-value.js';
import { formatDuration } from '../../internal/duration.js';
import { hasErrorCode, isMillraceError, MillraceError } from '../../internal/errors.js';
import { parseLabels } from '../../internal/labels.js';
import { nearestName } from '../../internal/nearest-name.js';
import { printableJson } from '../../internal/printable.js';
import { parseDatabaseUrl } from '../../storage/database-url.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { FlagValues } from '../flag-values.js';
import { readPayload } from '../read-payload.js';
import { checkJobId, resolveJobId } from '../resolve-job-id.js';
import { openSession, type Session, type Setup, setUp } from '../session.js';

interface Flags {
  readonly payload?: string;
  readonly queue?: string;
  readonly priority?: string;
  readonly delay?: string;
  readonly attempts?: string;
  readonly tags?: string;
  readonly unique?: true | string;
  readonly group?: string;
  readonly max?: string;
  readonly key?: string;
  readonly cost?: string;
  readonly requires?: string;
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
      .option('--tags <list>', 'words to find it by, with commas (at most 10)')
      .option('--unique [key]', 'at most one at a time with this key, or with this input')
      .option('--group <name>', 'the group of its limit, instead of that of its definition')
      .option('--max <n>', 'at most so many of the group (and key) at once')
      .option('--key <text>', 'the key of its limit, such as a tenant')
      .option('--cost <units>', 'its weight against the budgets of its queue and group')
      .option('--requires <labels>', 'labels that a worker must have, with commas')
      .option('--after <ids>', 'run once these jobs have completed (commas, or again)', collectIds)
      .option('--wait [duration]', 'wait for the result, at most so long');
  },
  async run(context, [name = ''], flags) {
    const values = valuesOf(flags);
    const input = flags.payload === undefined ? undefined : await readPayload(flags.payload, context);
    const setup = await setUp(context);
    await checkJob(setup, name, input);
    await using session = await openSession(context, { mustExist: false, setup });
    const options = await dispatchOptions(session, values, flags);
    const handle = await session.client.dispatch(name, input, options);
    const { timeoutMs } = values;
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

interface Values {
  readonly queue: string | undefined;
  readonly priority: number | undefined;
  readonly delay: number | undefined;
  readonly attempts: number | undefined;
  readonly tags: readonly string[] | undefined;
  readonly limit: DispatchLimit | undefined;
  readonly cost: number | undefined;
  readonly requires: readonly string[] | undefined;
  /** Null: don't wait. Infinity: as long as it takes. */
  readonly timeoutMs: number | null;
}

/** @throws MillraceError with everything that is wrong with the flags */
function valuesOf(flags: Flags): Values {
  const { queue, priority, delay, attempts, tags, cost, requires, wait, after = [] } = flags;
  const values = new FlagValues('dispatch');
  const taken = {
    queue: values.queue(queue),
    priority: values.priority(priority),
    delay: values.duration('--delay', delay),
    attempts: values.count('--attempts', attempts, mostAttempts),
    tags: values.take(tags, (list) =>
      parseTags(
        list.split(',').map((tag) => tag.trim()),
        '--tags',
      ),
    ),
    limit: limitOf(values, flags),
    cost: values.count('--cost', cost, largestCost),
    requires: values.take(requires, (list) => parseLabels(list, '--requires')),
    timeoutMs: values.duration('--wait', wait === true ? undefined : wait, 1),
  };
  for (const id of after) values.take(id, checkJobId);
  values.throwIfAny();
  const endless = wait === true ? Number.POSITIVE_INFINITY : null;
  return { ...taken, timeoutMs: taken.timeoutMs ?? endless };
}

function limitOf(values: FlagValues, { group, max, key }: Flags): DispatchLimit | undefined {
  if (group === undefined && max === undefined && key === undefined) return undefined;
  const taken = {
    group: values.take(group, (text) => parseGroup(text, '--group')),
    max: values.count('--max', max, largestMax),
  };
  return { ...taken, key };
}

/** What a client would refuse too, but before a database is opened and in words of the command line. */
async function checkJob(setup: Setup, name: string, input: unknown): Promise<void> {
  parseJobName(name);
  if (parseDatabaseUrl(setup.database).engine === 'memory') {
    throw new MillraceError(
      'usage-invalid',
      'dispatch: expected a database that outlives this command, got memory:, which ends with it. Name one by --database or MILLRACE_DATABASE',
    );
  }
  if (setup.config === null || setup.jobs.length === 0) return;
  const definition = setup.jobs.find((job) => job.name === name);
  if (definition === undefined) throw unknownName(name, setup.config.file, setup.jobs);
  await encodeInput(definition, input, setup.settings.values.maxPayloadBytes);
}

const mostNamesListed = 20;

function unknownName(name: string, file: string, jobs: Setup['jobs']): MillraceError {
  const known = jobs.map((job) => job.name);
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? '' : `. Did you mean "${nearest}"?`;
  const more = known.length > mostNamesListed ? ` and ${known.length - mostNamesListed} more` : '';
  return new MillraceError(
    'job-name-unknown',
    `${file} has no job ${describeValue(name)}${hint || '.'} It has ${known.slice(0, mostNamesListed).join(', ')}${more}`,
    { details: { name, known } },
  );
}

async function dispatchOptions(session: Session, values: Values, { unique, after = [] }: Flags) {
  const { queue, priority, delay, attempts, tags, limit, cost, requires } = values;
  const parents: string[] = [];
  for (const id of after) parents.push(await resolveJobId(session.storage, id));
  return {
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(delay === undefined ? {} : { delay }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(tags === undefined ? {} : { tags }),
    ...(limit === undefined ? {} : { limit }),
    ...(cost === undefined ? {} : { cost }),
    ...(requires === undefined ? {} : { requires }),
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
    if (hasErrorCode(error, 'result-timeout')) return stillUnderWay(handle.id, timeoutMs, error);
    if (isMillraceError(error) && endings.some((code) => hasErrorCode(error, code))) return error;
    throw error;
  }
}

function stillUnderWay(id: string, timeoutMs: number, cause: MillraceError): MillraceError {
  const status = cause.details['status'];
  const seen = typeof status === 'string' ? `it is ${status}` : 'its status could not be read';
  return new MillraceError(
    'result-timeout',
    `job ${id} had not ended within ${formatDuration(timeoutMs)}; ${seen}. It goes on: see millrace job ${id.slice(-12)}, or give --wait more time`,
    { cause },
  );
}
