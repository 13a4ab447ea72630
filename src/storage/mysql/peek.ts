import type { PeekRequest } from '../claimed-job.js';
import { hasRoom } from '../occupancy.js';
import type { Context } from './context.js';
import { GateKeeper } from './gate-keeper.js';
import type { Line } from './lines.js';
import { type PeekedTake, peekAloneStatement, peekLinesStatement, peekStatement } from './queries/leases.js';

/** Lanes of lines that one look takes in; beyond, the poll finds out. */
const mostLanes = 1_000;

export async function peek(
  context: Context,
  request: PeekRequest,
): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
  const takes: PeekedTake[] = [];
  for (const { queues, names } of request.takes) {
    const queueIds = await context.queues.ids([...new Set(queues)]);
    takes.push({ queueIds, nameIds: await context.names.ids([...new Set(names)]) });
  }
  const keeper = await GateKeeper.for(context, request);
  await keeper.look([], context.side);
  const kept = [...keeper.queueGates.keys()].filter((queueId) => !hasRoom(keeper.roomFor(null, queueId)));
  const [result] = await context.side.send(
    'peek',
    peekStatement(context.t, takes, { now: context.now(), kept }),
  );
  const [due, aloneDue, now, hasLines] = (result?.rows[0] ?? []) as (number | null)[];
  const nowMs = Number(now);
  const dues = typeof due === 'number' ? [due] : [];
  if (hasLines === 1) dues.push(...(await peekLines(context, { request, takes, keeper, nowMs })));
  return {
    dueInMs: dues.length === 0 ? null : Math.max(Math.min(...dues) - nowMs, 0),
    aloneDue:
      typeof aloneDue === 'number' &&
      aloneDue <= nowMs &&
      (await canRunAlone(context, { request, takes, keeper, nowMs })),
  };
}

/** Whether one of the due jobs that must run alone finds its labels and room. */
async function canRunAlone(context: Context, of: Look): Promise<boolean> {
  const { t, side, lines } = context;
  const { request, takes, keeper } = of;
  const [result] = await side.send(
    'peek',
    peekAloneStatement(t, takes, { now: context.now(), limit: mostLanes }),
  );
  const rows = (result?.rows ?? []) as [number, number | null][];
  await lines.load(
    rows.map(([, home]) => home ?? 0),
    (...statements) => side.send('reading lines', ...statements),
  );
  const labels = new Set(request.labels);
  const jobs = rows.map(([queueId, home]) => ({ queueId, line: lines.line(home) ?? null }));
  await keeper.look(
    jobs.flatMap(({ line }): Line[] => (line === null ? [] : [line])),
    side,
  );
  return jobs.some(
    ({ queueId, line }) =>
      (line?.requires ?? []).every((label) => labels.has(label)) && hasRoom(keeper.roomFor(line, queueId)),
  );
}

interface Look {
  readonly request: PeekRequest;
  readonly takes: readonly PeekedTake[];
  readonly keeper: GateKeeper;
  readonly nowMs: number;
}

/** When jobs of lines fall due, those left out that are due and kept. */
async function peekLines(context: Context, of: Look): Promise<number[]> {
  const { t, side, lines } = context;
  const { request, takes, keeper, nowMs } = of;
  const statement = peekLinesStatement(t, takes, { now: context.now(), limit: mostLanes });
  const [result] = await side.send('peek', statement);
  const rows = (result?.rows ?? []) as [number, number, number | null, number | null][];
  await lines.load(
    rows.map(([, line]) => line),
    (...statements) => side.send('reading lines', ...statements),
  );
  const labels = new Set(request.labels);
  const seen = rows.flatMap(([queueId, id, first, later]) => {
    const line = lines.line(id);
    const isOurs = line?.requires.every((label) => labels.has(label)) === true;
    return isOurs && line !== undefined ? [{ queueId, line, first, later }] : [];
  });
  const due = seen.filter(({ first }) => first !== null && first <= nowMs);
  await keeper.look(
    due.map(({ line }): Line => line),
    side,
  );
  return seen.flatMap(({ queueId, line, first, later }) => {
    const isKept = first !== null && first <= nowMs && !hasRoom(keeper.roomFor(line, queueId));
    const at = isKept ? later : first;
    return at === null ? [] : [at];
  });
}
