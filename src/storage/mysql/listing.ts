import type { JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import { bytesToUuid } from '../../internal/uuid.js';
import type { JobFilter, JobPage, JobPageRequest } from '../job-record.js';
import { listOrder, statusCodes } from '../sql/status-codes.js';
import type { Context } from './context.js';
import { summaries } from './inspecting.js';
import {
  type ListKey,
  type ListRequest,
  listFinals,
  listLeases,
  listReady,
  listWaiting,
} from './queries/inspect.js';
import type { Sql } from './sql.js';

/** A page that has looked at so many rows of the index ends short, with a cursor to go on from. */
const mostRowsLookedAt = 5_000;
/** Rows of the index that are read at once where a filter may leave most of them out. */
const filteredRows = 1_000;

interface Position {
  /** Index into `listOrder`. */
  section: number;
  after: ListKey | null;
}

interface ListedRow {
  readonly id: string;
  readonly queueId: number;
  readonly nameId: number;
  readonly key: ListKey;
}

export async function jobs(context: Context, filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
  const position: Position =
    page.cursor === undefined ? { section: 0, after: null } : parseCursor(page.cursor);
  const queueId = filter.queue === undefined ? undefined : await context.queues.find(filter.queue);
  const nameId = filter.name === undefined ? undefined : await context.names.find(filter.name);
  const isUnknown =
    (filter.queue !== undefined && queueId === undefined) ||
    (filter.name !== undefined && nameId === undefined);
  if (isUnknown) return { jobs: [], next: null };
  const queueIds = queueId === undefined ? await context.queues.all() : [queueId];
  const found: string[] = [];
  let looked = 0;
  while (position.section < listOrder.length && found.length < page.limit && looked < mostRowsLookedAt) {
    const status = listOrder[position.section] as JobStatus;
    if ((filter.status !== undefined && filter.status !== status) || queueIds.length === 0) {
      nextSection(position);
      continue;
    }
    const isFiltered = nameId !== undefined || (queueId !== undefined && status === 'processing');
    const count = isFiltered ? filteredRows : page.limit - found.length;
    const rows = await read(context, status, {
      queueIds,
      oneQueue: queueId !== undefined,
      after: position.after,
      count,
    });
    looked += rows.length;
    let isCut = false;
    for (const row of rows) {
      isCut = found.length === page.limit;
      if (isCut) break;
      position.after = row.key;
      if ((nameId ?? row.nameId) === row.nameId && (queueId ?? row.queueId) === row.queueId)
        found.push(row.id);
    }
    if (!isCut && rows.length < count) nextSection(position);
  }
  const next = position.section < listOrder.length ? cursorOf(position) : null;
  return { jobs: await summaries(context, found), next };
}

function nextSection(position: Position): void {
  position.section += 1;
  position.after = null;
}

async function read(context: Context, status: JobStatus, request: ListRequest): Promise<ListedRow[]> {
  const [result] = await context.side.send('listing jobs', statementFor(context, status, request));
  return (result?.rows ?? []).map((row) => {
    const [bytes, queueId, nameId, line = 0, rnk = 0, due = 0] = row as [
      Buffer,
      number,
      number,
      number?,
      number?,
      number?,
    ];
    const id = bytesToUuid(bytes);
    const key: ListKey =
      status === 'pending' ? { by: 'claim', numbers: [queueId, line, rnk, due], id } : { by: 'id', id };
    return { id, queueId, nameId, key };
  });
}

function statementFor({ t }: Context, status: JobStatus, request: ListRequest): Sql {
  switch (status) {
    case 'processing':
      return listLeases(t, request);
    case 'pending':
      return listReady(t, request);
    case 'blocked':
      return listWaiting(t, request);
    case 'completed':
    case 'buried':
    case 'cancelled':
      return listFinals(t, request, statusCodes[status]);
  }
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const cursorPattern = new RegExp(`^([0-5])(?:\\.(?:(-?\\d+),(-?\\d+),(-?\\d+),(-?\\d+),)?(${uuid}))?$`);

/** `<section>`, `<section>.<id>` or `1.<queue>,<line>,<rank>,<due>,<id>`. */
function cursorOf({ section, after }: Position): string {
  if (after === null) return String(section);
  return after.by === 'id' ? `${section}.${after.id}` : `${section}.${after.numbers.join(',')},${after.id}`;
}

function parseCursor(cursor: string): Position {
  const match = cursorPattern.exec(cursor);
  const [, section, queueId, line, rnk, due, id] = match ?? [];
  const isPending = listOrder[Number(section)] === 'pending';
  if (match === null || (id !== undefined && isPending !== (queueId !== undefined))) {
    throw new MillraceError(
      'cursor-invalid',
      `cursor: expected the "next" of a page, got ${JSON.stringify(cursor)}`,
    );
  }
  if (id === undefined) return { section: Number(section), after: null };
  const numbers = [Number(queueId), Number(line), Number(rnk), Number(due)] as const;
  return { section: Number(section), after: isPending ? { by: 'claim', numbers, id } : { by: 'id', id } };
}
