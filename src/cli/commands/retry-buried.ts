import { parseQueueName } from '../../core/queue-name.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { openSession } from '../session.js';

interface Flags {
  readonly queue?: string;
}

export const retryBuried: CommandSpec<Flags> = {
  name: 'retry-buried',
  summary: 'make all buried jobs due again',
  details: 'Each gets a fresh set of attempts and keeps its failures.',
  examples: ['millrace retry-buried', 'millrace retry-buried --queue media'],
  addOptions(command) {
    command.option('--queue <name>', 'only those of this queue');
  },
  async run(context, _args, { queue }) {
    if (queue !== undefined) parseQueueName(queue);
    await using session = await openSession(context);
    const { retried, duplicates } = await session.client.retryBuried({ queue });
    context.terminal.answer({ retried, duplicates }, () => {
      context.terminal.line(`${retried} ${retried === 1 ? 'job is' : 'jobs are'} due again`);
      if (duplicates > 0) {
        context.terminal.line(`${duplicates} left buried: another job holds their unique key`);
      }
    });
    return exitCodes.ok;
  },
};
