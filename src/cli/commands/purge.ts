import type { PurgeableStatus } from '../../client/control.js';
import { formatDuration } from '../../internal/duration.js';
import { expectedGot, MillraceError } from '../../internal/errors.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { FlagValues } from '../flag-values.js';
import { openSession } from '../session.js';

interface Flags {
  readonly olderThan?: string;
  readonly status?: string;
}

const dayMs = 86_400_000;

const purgeable: readonly string[] = ['completed', 'cancelled', 'buried'] satisfies PurgeableStatus[];

function parseStatuses(list: string): PurgeableStatus[] {
  const words = list.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !purgeable.includes(word));
  if (wrong === undefined) return words as PurgeableStatus[];
  throw new MillraceError(
    'usage-invalid',
    expectedGot({ what: '--status', expected: `one of ${purgeable.join(', ')}`, got: wrong }),
  );
}

export const purge: CommandSpec<Flags> = {
  name: 'purge',
  summary: 'delete jobs that ended long ago',
  details:
    'Buried jobs are deleted only when asked for by --status. A job that another one still waits for stays.\n' +
    'The retention of a job itself goes before --older-than.',
  examples: ['millrace purge --older-than 7d', 'millrace purge --older-than 90d --status buried'],
  addOptions(command) {
    command
      .option(
        '--older-than <duration>',
        'only those that ended so long ago (default: MILLRACE_RETENTION_DAYS)',
      )
      .option('--status <list>', 'of completed, cancelled, buried (default: completed,cancelled)');
  },
  async run(context, _args, { olderThan, status }) {
    const values = new FlagValues('purge');
    const olderThanGiven = values.duration('--older-than', olderThan);
    const statuses = values.take(status ?? 'completed,cancelled', parseStatuses) ?? [];
    values.throwIfAny();
    await using session = await openSession(context);
    const olderThanMs = olderThanGiven ?? session.setup.settings.values.retentionDays * dayMs;
    const purged = await session.client.purge({
      olderThan: olderThanMs,
      statuses,
    });
    context.terminal.answer({ purged, statuses, olderThanMs }, () =>
      context.terminal.line(
        `deleted ${purged} ${purged === 1 ? 'job' : 'jobs'} (${statuses.join(', ')}) that ended more than ${formatDuration(olderThanMs)} ago`,
      ),
    );
    return exitCodes.ok;
  },
};
