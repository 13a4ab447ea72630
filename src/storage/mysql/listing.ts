import type { JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import { bytesToUuid } from '../../internal/uuid.js';
import { fits, hasDetails, lastFailureHas, mostErrorsRead, mostLookedAt } from '../job-filter.js';
import type { JobFilter, JobPage, JobPageRequest } from '../job-record.js';
import { listOrder, statusCodes } from '../sql/status-codes.js';
import type { Context } from './context.js';
import { failuresOf, summaries } from './inspecting.js';
import {
  type ListKey,
  type ListRequest,
  listFinals,
  listLeases,
  listReady,
  listTagged,
  listWaiting,
} from './queries/inspect.js';
import type { Sql } from './sql.js';

/** Rows of the index that are read at once where a filter may leave most of them out. */
const filteredRows = 500;

/** A list by status, or by tag. */
type Section = JobStatus | 'tagged';

interface Position {
  /** Index into the sections of the list. */
  section: number;
  after: ListKey | null;
}

interface ListedRow {
  readonly id: string;
  readonly queueId: number;
  readonly nameId: number;
  readonly key: ListKey;
}

/** What a page is to show, and how. */
interface Look {
  readonly filter: JobFilter;
  readonly sections: readonly Section[];
  readonly queueIds: readonly number[];
  readonly queueId: number | undefined;
  readonly nameId: number | undefined;
  /** Its rows have to be read to know whether they fit. */
  readonly isDetailed: boolean;
}

export async function jobs(context: Context, filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
  const look = await lookFor(context, filter);
  const position = page.cursor === undefined ? { section: 0, after: null } : parseCursor(page.cursor, look);
  if (look === null) return { jobs: [], next: null };
  const most = filter.errorText === undefined ? mostLookedAt : mostErrorsRead;
  const found: string[] = [];
  let looked = 0;
  while (position.section < look.sections.length && found.length < page.limit && looked < most) {
    const section = look.sections[position.section] as Section;
    if (isPassedOver(look, section)) {
      nextSection(position);
      continue;
    }
    const count = isSifted(look, section) ? filteredRows : page.limit - found.length;
    const rows = await read(context, section, { look, after: position.after, count });
    looked += rows.length;
    const wanted = await wantedOf(context, look, rows);
    let isCut = false;
    for (const row of rows) {
      isCut = found.length === page.limit;
      if (isCut) break;
      position.after = row.key;
      if (wanted.has(row.id)) found.push(row.id);
    }
    if (!isCut && rows.length < count) nextSection(position);
  }
  const next = position.section < look.sections.length ? cursorOf(position, look) : null;
  return { jobs: await summaries(context, found), next };
}

/** Null: it names a queue or a job that there never was. */
async function lookFor(context: Context, filter: JobFilter): Promise<Look | null> {
  const queueId = filter.queue === undefined ? undefined : await context.queues.find(filter.queue);
  const nameId = filter.name === undefined ? undefined : await context.names.find(filter.name);
  if (
    (filter.queue !== undefined && queueId === undefined) ||
    (filter.name !== undefined && nameId === undefined)
  )
    return null;
  return {
    filter,
    sections: filter.tag === undefined ? listOrder : ['tagged'],
    queueIds: queueId === undefined ? await context.queues.all() : [queueId],
    queueId,
    nameId,
    isDetailed: filter.tag !== undefined || hasDetails(filter),
  };
}

function isPassedOver({ filter, queueIds }: Look, section: Section): boolean {
  if (section === 'tagged') return false;
  return (filter.status !== undefined && filter.status !== section) || queueIds.length === 0;
}

/** Whether rows that are read may not fit. */
function isSifted({ isDetailed, nameId, queueId }: Look, section: Section): boolean {
  return isDetailed || nameId !== undefined || (queueId !== undefined && section === 'processing');
}

async function wantedOf(context: Context, look: Look, rows: readonly ListedRow[]): Promise<Set<string>> {
  const { filter, queueId, nameId } = look;
  if (!look.isDetailed) {
    const fitting = rows.filter(
      (row) => (nameId ?? row.nameId) === row.nameId && (queueId ?? row.queueId) === row.queueId,
    );
    return new Set(fitting.map(({ id }) => id));
  }
  const found = await summaries(
    context,
    rows.map(({ id }) => id),
  );
  const ids = found.filter((job) => fits(filter, job)).map(({ id }) => id);
  const { errorText } = filter;
  if (errorText === undefined) return new Set(ids);
  const failures = await failuresOf(context, ids);
  return new Set(ids.filter((id) => lastFailureHas(failures.get(id) ?? null, errorText)));
}

function nextSection(position: Position): void {
  position.section += 1;
  position.after = null;
}

async function read(
  context: Context,
  section: Section,
  { look, after, count }: { look: Look; after: ListKey | null; count: number },
): Promise<ListedRow[]> {
  const request = { queueIds: look.queueIds, oneQueue: look.queueId !== undefined, after, count };
  const statement =
    section === 'tagged'
      ? listTagged(context.t, look.filter.tag ?? '', request)
      : statementFor(context, section, request);
  const [result] = await context.side.send('listing jobs', statement);
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
      section === 'pending' ? { by: 'claim', numbers: [queueId, line, rnk, due], id } : { by: 'id', id };
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
const cursorPattern = new RegExp(`^([0-5t])(?:\\.(?:(-?\\d+),(-?\\d+),(-?\\d+),(-?\\d+),)?(${uuid}))?$`);

/** `<section>`, `<section>.<id>` or `1.<queue>,<line>,<rank>,<due>,<id>`; the section of a list by tag is `t`. */
function cursorOf({ section, after }: Position, { sections }: Look): string {
  const name = sections[section] === 'tagged' ? 't' : String(section);
  if (after === null) return name;
  return after.by === 'id' ? `${name}.${after.id}` : `${name}.${after.numbers.join(',')},${after.id}`;
}

function parseCursor(cursor: string, look: Look | null): Position {
  const match = cursorPattern.exec(cursor);
  const [, name, queueId, line, rnk, due, id] = match ?? [];
  const isTagged = name === 't';
  const section = isTagged ? 0 : Number(name);
  const isPending = !isTagged && listOrder[section] === 'pending';
  const isOther = look !== null && (look.filter.tag !== undefined) !== isTagged;
  if (match === null || isOther || (id !== undefined && isPending !== (queueId !== undefined))) {
    throw new MillraceError(
      'cursor-invalid',
      `cursor: expected the "next" of a page, got ${JSON.stringify(cursor)}`,
    );
  }
  if (id === undefined) return { section, after: null };
  const numbers = [Number(queueId), Number(line), Number(rnk), Number(due)] as const;
  return { section, after: isPending ? { by: 'claim', numbers, id } : { by: 'id', id } };
}
