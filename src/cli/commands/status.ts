import type { WorkerListing } from '../../client/worker-view.js';
import { parseQueueName } from '../../core/queue-name.js';
import { maskUrl } from '../../internal/logger.js';
import type { QueueStats } from '../../storage/job-record.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { shortDuration } from '../output/relative-time.js';
import type { Column } from '../output/table.js';
import { wrapText } from '../output/wrap-text.js';
import { openSession } from '../session.js';

interface Flags {
  readonly queue?: string;
}

const columns: readonly Column<QueueStats>[] = [
  {
    title: 'QUEUE',
    value: ({ queue, paused }) => (paused ? `${queue} (paused)` : queue),
    shrinkTo: 12,
    paint: ({ paused }, style) => (paused ? style.warning : undefined),
  },
  { title: 'PENDING', expendable: 2, value: ({ pending }) => pending, align: 'right' },
  { title: 'DUE', value: ({ claimable }) => claimable, align: 'right' },
  { title: 'BLOCKED', expendable: 3, value: ({ blocked }) => blocked, align: 'right' },
  { title: 'RUNNING', value: ({ processing }) => processing, align: 'right' },
  { title: 'DONE', expendable: 1, value: ({ completed }) => completed, align: 'right' },
  {
    title: 'BURIED',
    value: ({ buried }) => buried,
    align: 'right',
    paint: ({ buried }, style) => (buried > 0 ? style.bad : undefined),
  },
  { title: 'CANCELLED', expendable: 5, value: ({ cancelled }) => cancelled, align: 'right' },
  {
    title: 'OLDEST',
    expendable: 4,
    value: ({ oldestDueForMs }) => (oldestDueForMs === null ? null : shortDuration(oldestDueForMs)),
    align: 'right',
  },
];

export const status: CommandSpec<Flags> = {
  name: 'status',
  summary: 'show the numbers of every queue',
  details:
    'PENDING waits for its time or turn; DUE of these can run now; BLOCKED waits for other jobs.\n' +
    'DONE, BURIED and CANCELLED count endings since the database was made. OLDEST: how long the oldest due job waits.',
  examples: ['millrace status', 'millrace status --queue media --json'],
  addOptions(command) {
    command.option('--queue <name>', 'only this queue');
  },
  async run(context, _args, { queue }) {
    if (queue !== undefined) parseQueueName(queue);
    await using session = await openSession(context);
    const { client, storage, setup } = session;
    const queues = queue === undefined ? await client.stats() : [await client.stats(queue)];
    const workers = workerTotals(await client.workers());
    const database = { address: maskUrl(setup.database), server: storage.capabilities.server };
    context.terminal.answer({ database, queues, workers }, () => {
      const { terminal } = context;
      if (queues.length === 0) terminal.line('no job was dispatched yet');
      else terminal.table(queues, columns);
      terminal.line();
      for (const line of wrapText(workersLine(workers), terminal.width)) terminal.line(line);
    });
    return exitCodes.ok;
  },
};

interface WorkerTotals {
  readonly live: number;
  readonly running: number;
  readonly concurrency: number;
}

function workerTotals(workers: readonly WorkerListing[]): WorkerTotals {
  const live = workers.filter(({ status: state }) => state !== 'offline');
  return {
    live: live.length,
    running: live.reduce((sum, { running }) => sum + running, 0),
    concurrency: live.reduce((sum, { concurrency }) => sum + concurrency, 0),
  };
}

function workersLine({ live, running, concurrency }: WorkerTotals): string {
  if (live === 0) return 'no live worker; start one with: millrace work';
  return `${live} live ${live === 1 ? 'worker' : 'workers'}, ${running} of ${concurrency} slots in use`;
}
