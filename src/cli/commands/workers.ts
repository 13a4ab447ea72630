import type { WorkerListing } from '../../client/worker-view.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { shortDuration } from '../output/relative-time.js';
import type { Style } from '../output/style.js';
import type { Column } from '../output/table.js';
import { openSession } from '../session.js';

const columns: readonly Column<WorkerListing>[] = [
  { title: 'WORKER', value: ({ id }) => id, shrinkTo: 10 },
  { title: 'STATUS', value: ({ status }) => status, paint: ({ status }, style) => paintOf(status, style) },
  { title: 'STATE', expendable: 5, value: ({ state }) => state, shrinkTo: 8 },
  { title: 'RUNNING', value: ({ running, concurrency }) => `${running}/${concurrency}`, align: 'right' },
  { title: 'DONE', expendable: 1, value: ({ jobsDone }) => jobsDone, align: 'right' },
  {
    title: 'HEARD',
    expendable: 2,
    value: ({ silentForMs }) => `${shortDuration(silentForMs)} ago`,
    align: 'right',
  },
  { title: 'HOST', expendable: 4, value: ({ host, pid }) => `${host}:${pid}`, shrinkTo: 10 },
  { title: 'QUEUES', expendable: 3, value: ({ queues }) => queues.join(','), shrinkTo: 8 },
];

function paintOf(status: WorkerListing['status'], style: Style) {
  if (status === 'active') return style.good;
  return status === 'offline' ? style.dim : style.warning;
}

export const workers: CommandSpec = {
  name: 'workers',
  summary: 'list the workers that are registered',
  details:
    'STATUS: active; stale: silent for three heartbeats; offline: it said goodbye, or was silent for WORKER_TTL.\n' +
    'RUNNING and DONE are as of its last heartbeat (HEARD).',
  examples: ['millrace workers', 'millrace workers --json'],
  async run(context) {
    await using session = await openSession(context);
    const list = await session.client.workers();
    context.terminal.answer({ workers: list }, () => {
      if (list.length === 0) context.terminal.line('no worker is registered; start one with: millrace work');
      else context.terminal.table(list, columns);
    });
    return exitCodes.ok;
  },
};
