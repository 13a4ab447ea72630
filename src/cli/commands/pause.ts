import { parseQueueName } from '../../core/queue-name.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { openSession } from '../session.js';

export const pause: CommandSpec = {
  name: 'pause <queue>',
  summary: 'keep workers from taking jobs of a queue',
  details: 'What runs goes on. The queue stays paused, also across restarts, until it is resumed.',
  examples: ['millrace pause media'],
  async run(context, [queue = '']) {
    parseQueueName(queue);
    await using session = await openSession(context);
    await session.client.pause(queue);
    context.terminal.answer({ queue, paused: true }, () => context.terminal.line(`queue ${queue} is paused`));
    return exitCodes.ok;
  },
};

export const resume: CommandSpec = {
  name: 'resume <queue>',
  summary: 'let workers take jobs of a paused queue again',
  examples: ['millrace resume media'],
  async run(context, [queue = '']) {
    parseQueueName(queue);
    await using session = await openSession(context);
    const wasPaused = await session.client.isPaused(queue);
    await session.client.resume(queue);
    context.terminal.answer({ queue, paused: false, wasPaused }, () =>
      context.terminal.line(wasPaused ? `queue ${queue} is running again` : `queue ${queue} was not paused`),
    );
    return exitCodes.ok;
  },
};
