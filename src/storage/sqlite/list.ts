/*
 * Lists page by key. A cursor is the place of the last row looked at: the code of its status, then its key in the index
 * by which jobs of that status are listed. Rows that a filter hides are looked at too, at most 5,000 a page; such a page
 * is then shorter than its limit and has a next one.
 */
import { MillraceError } from '../../internal/errors.js';
import { fits, hasDetails, lastFailureHas, mostErrorsRead, mostLookedAt } from '../job-filter.js';
import type { JobFilter, JobPage, JobPageRequest } from '../job-record.js';
import { listOrder, statusCodes } from '../sql/status-codes.js';
import type { Connection } from './connection.js';
import { summaryOf } from './inspect.js';
import { liveKindIds } from './line.js';
import { merge } from './merge.js';
import * as sql from './queries/inspect.js';

const readSize = 500;
/** What a row of which the failures are read counts as. */
const errorsWeight = mostLookedAt / mostErrorsRead;

const afterEveryId = Buffer.alloc(17, 0xff);

interface Place {
  readonly row: number;
  readonly kind: number;
  /** After the status in the cursor. */
  readonly key: string;
}

export function jobs(db: Connection, filter: JobFilter, page: JobPageRequest): JobPage {
  const wanted = wantedKinds(db, filter);
  if (wanted?.size === 0) return { jobs: [], next: null };
  const found: number[] = [];
  let lookedAt = 0;
  let last: string | null = null;
  const answer = (next: string | null): JobPage => ({ jobs: summaries(db, found), next });
  for (const { prefix, places } of sections(db, filter, page.cursor, wanted)) {
    for (const { row, kind, key } of places) {
      const isWanted = (wanted === null || wanted.has(kind)) && hasWanted(db, filter, row);
      if (isWanted && found.length === page.limit) return answer(last);
      if (isWanted) found.push(row);
      last = `${prefix}.${key}`;
      lookedAt += filter.errorText === undefined ? 1 : errorsWeight;
      if (lookedAt >= mostLookedAt) return answer(last);
    }
  }
  return answer(null);
}

/** Whether the job fits the rest of the filter, for which its row has to be read. */
function hasWanted(db: Connection, filter: JobFilter, row: number): boolean {
  const { tag, errorText } = filter;
  // What is listed by tag has not been sorted by status.
  if (tag === undefined && !hasDetails(filter)) return true;
  if (!fits(filter, summaryOf(db, db.get<sql.SummaryRow>(sql.summaryOf, row) as sql.SummaryRow)))
    return false;
  return (
    errorText === undefined || lastFailureHas(db.value<string | null>(sql.errorsOf, row) ?? null, errorText)
  );
}

/** The kinds a filter lets through; null = all. */
function wantedKinds(db: Connection, { queue, name }: JobFilter): ReadonlySet<number> | null {
  if (queue === undefined && name === undefined) return null;
  return new Set(db.kinds.all({ queue, name }).map(({ id }) => id));
}

/** Places in order, and what stands before each in a cursor: the code of its status, or `t` in a list by tag. */
interface Section {
  readonly prefix: string;
  readonly places: Iterable<Place>;
}

function sections(
  db: Connection,
  filter: JobFilter,
  cursor: string | undefined,
  wanted: ReadonlySet<number> | null,
): Section[] {
  const { tag } = filter;
  if (tag !== undefined) return [{ prefix: 't', places: taggedPlaces(db, tag, tagCursor(cursor)) }];
  return statusSections(filter, cursor).map(({ status, after }) => ({
    prefix: String(status),
    places: lazily(() => places(db, status, after, wanted)),
  }));
}

/** A section is read when its turn comes, if it does. */
function* lazily(read: () => Iterable<Place>): Generator<Place> {
  yield* read();
}

function tagCursor(cursor: string | undefined): Buffer {
  if (cursor === undefined) return afterEveryId;
  const match = /^t\.([0-9a-f]{32})$/.exec(cursor);
  if (match?.[1] === undefined) throw badCursor(cursor);
  return Buffer.from(match[1], 'hex');
}

function* taggedPlaces(db: Connection, tag: string, after: Buffer): Generator<Place> {
  for (let id: Buffer | undefined = after; id !== undefined; ) {
    const rows: sql.ListedRow[] = db.all<sql.ListedRow>(sql.listTagged, tag, id, readSize);
    yield* rows.map(placeById);
    id = rows.length < readSize ? undefined : rows.at(-1)?.id;
  }
}

const badCursor = (cursor: string): MillraceError =>
  new MillraceError('cursor-invalid', `cursor: expected the "next" of a page, got "${cursor}"`);

function statusSections(
  filter: JobFilter,
  cursor: string | undefined,
): { status: number; after: string[] | null }[] {
  const statuses = filter.status === undefined ? listOrder : [filter.status];
  const order: readonly number[] = statuses.map((status) => statusCodes[status]);
  if (cursor === undefined) return order.map((status) => ({ status, after: null }));
  const match = /^([0-5])\.([0-9a-f:-]+)$/.exec(cursor);
  const at = order.indexOf(Number(match?.[1]));
  const after = match?.[2]?.split(':') ?? [];
  if (at < 0 || after.length !== (order[at] === statusCodes.pending ? 5 : 1)) {
    throw badCursor(cursor);
  }
  return order.slice(at).map((status, index) => ({ status, after: index === 0 ? after : null }));
}

function summaries(db: Connection, rows: readonly number[]): JobPage['jobs'] {
  return rows.map((row) => summaryOf(db, db.get<sql.SummaryRow>(sql.summaryOf, row) as sql.SummaryRow));
}

function places(
  db: Connection,
  status: number,
  after: string[] | null,
  wanted: ReadonlySet<number> | null,
): Iterable<Place> {
  if (status === statusCodes.pending) return pendingPlaces(db, after, wanted);
  const id = after?.[0] === undefined ? afterEveryId : Buffer.from(after[0], 'hex');
  return status === statusCodes.processing ? processingPlaces(db, id) : placesById(db, status, id);
}

const placeById = ({ row, kind, id }: sql.ListedRow): Place => ({ row, kind, key: id.toString('hex') });

function processingPlaces(db: Connection, after: Buffer): Place[] {
  return db.all<sql.ListedRow>(sql.listProcessing, after).map(placeById);
}

function* placesById(db: Connection, status: number, after: Buffer): Generator<Place> {
  for (let id: Buffer | undefined = after; id !== undefined; ) {
    const rows: sql.ListedRow[] = db.all<sql.ListedRow>(sql.listById, status, id, readSize);
    yield* rows.map(placeById);
    id = rows.length < readSize ? undefined : rows.at(-1)?.id;
  }
}

/** Queue after queue, each in claim order; kinds that are not wanted cost one seek each. */
function* pendingPlaces(
  db: Connection,
  after: readonly string[] | null,
  wanted: ReadonlySet<number> | null,
): Generator<Place> {
  const [queueText = '0', line, rank, dueAt, id] = after ?? [];
  let queue: number | undefined = Number(queueText);
  let from: PendingKey = [Number(line), Number(rank), Number(dueAt), Buffer.from(id ?? '', 'hex')];
  if (after === null) {
    queue = db.value<number>(sql.nextLiveQueue, 0);
    from = beforeEveryJob;
  }
  while (queue !== undefined) {
    const kinds = [...liveKindIds(db, queue)].filter((kind) => wanted === null || wanted.has(kind));
    const start = from;
    const ofQueue = queue;
    const sequences = kinds.map((kind) => pendingOfKind(db, ofQueue, kind, start));
    for (const row of merge(sequences, inClaimOrder)) {
      yield {
        row: row.row,
        kind: row.kind,
        key: [queue, ...keyOf(row).slice(0, 3), row.id.toString('hex')].join(':'),
      };
    }
    queue = db.value<number>(sql.nextLiveQueue, queue);
    from = beforeEveryJob;
  }
}

type PendingKey = readonly [line: number, rank: number, dueAt: number, id: Buffer];

const beforeEveryJob: PendingKey = [Number.MIN_SAFE_INTEGER, 0, 0, Buffer.alloc(0)];

const keyOf = ({ line, rank, dueAt, id }: sql.PendingRow): PendingKey => [line, rank, dueAt, id];

function* pendingOfKind(
  db: Connection,
  queue: number,
  kind: number,
  after: PendingKey,
): Generator<sql.PendingRow> {
  for (let from = after; ; ) {
    const rows = db.all<sql.PendingRow>(sql.listPending, queue, kind, ...from, readSize);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < readSize) return;
    from = keyOf(last);
  }
}

function inClaimOrder(a: sql.PendingRow, b: sql.PendingRow): number {
  return a.line - b.line || a.rank - b.rank || a.dueAt - b.dueAt || Buffer.compare(a.id, b.id);
}
