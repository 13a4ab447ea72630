import { textsOf } from '../../client/why-worker.js';
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
  { title: 'STATE', expendable: 7, value: stateText, shrinkTo: 8 },
  {
    title: 'RUNNING',
    value: ({ running, lanes, concurrency }) => `${running}/${width(lanes) || concurrency}`,
    align: 'right',
  },
  { title: 'DONE', expendable: 1, value: ({ jobsDone }) => jobsDone, align: 'right' },
  {
    title: 'HEARD',
    expendable: 2,
    value: ({ silentForMs }) => `${shortDuration(silentForMs)} ago`,
    align: 'right',
  },
  { title: 'CPU', expendable: 3, value: ({ usage }) => `${Math.round(usage.cpu * 100)}%`, align: 'right' },
  {
    title: 'MEMORY',
    expendable: 4,
    value: ({ usage }) => `${Math.round(usage.rssBytes / megabyte)}MB`,
    align: 'right',
  },
  { title: 'LINK', expendable: 8, value: linkText },
  { title: 'HOST', expendable: 6, value: ({ host, pid }) => `${host}:${pid}`, shrinkTo: 10 },
  { title: 'QUEUES', expendable: 5, value: ({ queues }) => queues.join(','), shrinkTo: 8 },
];

const megabyte = 1024 ** 2;
const shownOfHub = 6;

const width = (lanes: WorkerListing['lanes']): number => lanes.reduce((sum, lane) => sum + lane.width, 0);

/** `hub 3f9c`, by the end of its id; `storage`. */
function linkText({ link, hubId }: WorkerListing): string {
  return link === 'hub' && hubId !== null ? `hub ${hubId.slice(-shownOfHub)}` : link;
}

/** `DRAINING: recycle-jobs`, where there is more to say than the state. */
function stateText({ state, drain }: WorkerListing): string {
  return drain === null || state !== 'DRAINING' ? state : `${state}: ${drain.reason}`;
}

/** What is not well, or is worth a word. */
function notes(list: readonly WorkerListing[]): string[] {
  return list.flatMap(({ id, status, lanes, usage, recycleAsked, state, details }) => {
    if (status === 'offline') return [];
    const slow =
      usage.loopLagMs >= 1_000 ? [`its main loop stood still for ${shortDuration(usage.loopLagMs)}`] : [];
    const recycle = recycleAsked && state !== 'DRAINING' ? ['it is to recycle and waits for its turn'] : [];
    const unwell = lanes.flatMap(({ kind, number, note }) =>
      note === null ? [] : [`${kind}${number === 0 ? '' : ` lane ${number}`}: ${note}`],
    );
    const alarms = Object.entries(textsOf(details['alarms'])).map(([name, told]) => `${name}: ${told}`);
    const next = details['lanesNext'];
    const later = typeof next === 'string' ? [`from its next start on ${next}`] : [];
    return [...alarms, ...later, ...slow, ...recycle, ...unwell].map((note) => `${id}: ${note}`);
  });
}

function paintOf(status: WorkerListing['status'], style: Style) {
  if (status === 'active') return style.good;
  return status === 'offline' ? style.dim : style.warning;
}

export const workers: CommandSpec = {
  name: 'workers',
  summary: 'list the workers that are registered',
  details:
    'STATUS: active, drain or standby, as operators want; stale: silent for three heartbeats; offline: it said goodbye, or was silent for WORKER_TTL.\n' +
    'LINK: storage, or hub and which (the end of its id; all of it with --json).\n' +
    'STATE, RUNNING, DONE, CPU (of one processor) and MEMORY are as of its last heartbeat (HEARD).',
  examples: ['millrace workers', 'millrace workers --json'],
  async run(context) {
    await using session = await openSession(context);
    const list = await session.client.workers();
    context.terminal.answer({ workers: list }, () => {
      if (list.length === 0) context.terminal.line('no worker is registered; start one with: millrace work');
      else context.terminal.table(list, columns);
      for (const note of notes(list)) context.terminal.note(note);
    });
    return exitCodes.ok;
  },
};
