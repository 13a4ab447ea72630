import { momentOf } from '../../client/due-option.js';
import type { EditOptions } from '../../client/edit-options.js';
import { expectedGot, MillraceError } from '../../internal/errors.js';
import type { CommandContext, CommandSpec } from '../command.js';
import { FlagValues } from '../flag-values.js';
import { whereHelp } from '../parse-where.js';
import { readPayload } from '../read-payload.js';
import { addWhereOptions, changeEach } from './change-job.js';
import { changeByFilter, isByFilter, type WhereFlags } from './change-where.js';

interface Flags extends WhereFlags {
  readonly payload?: string;
  readonly priority?: string;
  readonly queue?: string;
  readonly delay?: string;
  readonly runAt?: string;
}

export const edit: CommandSpec<Flags> = {
  name: 'edit [id...]',
  summary: 'change jobs that wait: input, priority, queue or due time',
  details:
    'Only pending and blocked jobs can be edited; a blocked one has no due time yet. Unique keys stay what they were.\n' +
    'Where the config lists the job, the new input must fit its schema.\n' +
    `${whereHelp} With --payload it needs name=….`,
  examples: [
    'millrace edit 7f3a9c21b0de --priority high --delay 0s',
    'millrace edit 7f3a9c21b0de --payload \'{"file":"dog.png","width":320}\'',
    'millrace edit --where queue=media,tag=big --queue slow --dry-run',
  ],
  addOptions(command) {
    command
      .option('--payload <json>', 'the whole new input: JSON, @file, or - for standard input')
      .option('--priority <priority>', 'low, normal, high, urgent or -100 to 100')
      .option('--queue <name>', 'move it to this queue')
      .option('--delay <duration>', 'due so long from now')
      .option('--run-at <time>', 'due at this time, as in 2030-01-31T08:00:00Z');
    addWhereOptions(command);
  },
  async run(context, ids, flags) {
    const isFilter = isByFilter(ids, flags);
    const options = await editOptions(context, flags);
    if (isFilter) return await changeByFilter(context, 'edit', { flags, edit: options });
    return await changeEach(context, ids, {
      change: 'edit',
      apply: (client, id) => client.edit(id, options),
    });
  },
};

/** @throws MillraceError with everything that is wrong with the flags */
async function editOptions(context: CommandContext, { payload, ...flags }: Flags): Promise<EditOptions> {
  const values = new FlagValues('edit');
  const taken = {
    priority: values.priority(flags.priority),
    queue: values.queue(flags.queue),
    delay: values.duration('--delay', flags.delay),
    runAt: values.take(flags.runAt, parseRunAt),
  };
  values.throwIfAny();
  if (taken.delay !== undefined && taken.runAt !== undefined)
    throw new MillraceError(
      'usage-invalid',
      'edit: --delay and --run-at contradict each other. Give one of them',
    );
  if (payload === undefined && Object.values(taken).every((value) => value === undefined))
    throw new MillraceError(
      'usage-invalid',
      'edit: expected something to change: --payload, --priority, --queue, --delay or --run-at',
    );
  return payload === undefined ? taken : { ...taken, input: await readPayload(payload, context) };
}

function parseRunAt(text: string): Date {
  const atMs = momentOf(text);
  if (atMs !== null) return new Date(atMs);
  const expected = 'a time with its zone, such as 2030-01-31T08:00:00Z';
  throw new MillraceError('usage-invalid', expectedGot({ what: '--run-at', expected, got: text }));
}
