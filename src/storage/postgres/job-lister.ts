import { isJobStatus, type JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import { isUuid } from '../../internal/uuid.js';
import type { JobFilter, JobPage, JobPageRequest, JobSummary } from '../job-record.js';
import { textArray } from './arrays.js';
import { statusCode } from './codes.js';
import type { Context } from './context.js';
import { summaryOf } from './job-summary.js';
import type { InspectQueries } from './queries/inspect.js';
import { type Row, textOf } from './statement.js';

const sections: readonly JobStatus[] = [
  'processing',
  'pending',
  'blocked',
  'buried',
  'cancelled',
  'completed',
];
/** With a filter by name, rows that one page reads at most in one section; then it ends early. */
const rowsRead = 5_000;
const lineColumn = 13;

/** Where the next page begins: a section, and in it the last row that was read. */
interface Place {
  readonly status: JobStatus;
  /** Only for pending: they are listed queue by queue. */
  readonly queue: string | null;
  readonly after: readonly string[] | null;
}

interface Read {
  readonly jobs: JobSummary[];
  /** Null: the section holds no more. */
  readonly next: Place | null;
}

/** Pages by key through the sections of a list; every page reads a bounded number of rows. */
export class JobLister {
  readonly #context: Context;
  readonly #queries: InspectQueries;

  constructor(context: Context, queries: InspectQueries) {
    this.#context = context;
    this.#queries = queries;
  }

  async queues(): Promise<string[]> {
    return (await this.#context.connection.run(this.#queries.queues)).map(([queue]) => textOf(queue));
  }

  async page(filter: JobFilter, request: JobPageRequest): Promise<JobPage> {
    const queues = filter.queue === undefined ? await this.queues() : [filter.queue];
    const shown = filter.status === undefined ? sections : [filter.status];
    let place: Place | null =
      request.cursor === undefined
        ? { status: shown[0] ?? 'processing', queue: null, after: null }
        : parseCursor(request.cursor);
    if (place !== null && !shown.includes(place.status)) throw badCursor(request.cursor ?? '');
    const jobs: JobSummary[] = [];
    while (place !== null && jobs.length < request.limit) {
      const read: Read = await this.#read(place, filter, queues, request.limit - jobs.length);
      jobs.push(...read.jobs);
      if (
        read.next !== null &&
        jobs.length < request.limit &&
        filter.name !== undefined &&
        read.jobs.length === 0
      ) {
        return { jobs, next: cursorOf(read.next) };
      }
      place = read.next ?? followingSection(place.status, shown);
    }
    return {
      jobs,
      next: place === null || !(await this.#hasMore(place, filter, queues)) ? null : cursorOf(place),
    };
  }

  /** Whether anything stands from here on; looked up so that the last page says so. */
  async #hasMore(from: Place, filter: JobFilter, queues: readonly string[]): Promise<boolean> {
    const shown = filter.status === undefined ? sections : [filter.status];
    for (let place: Place | null = from; place !== null; ) {
      const read: Read = await this.#read(place, filter, queues, 1);
      if (read.jobs.length > 0) return true;
      if (read.next !== null && filter.name !== undefined) return true;
      place = read.next ?? followingSection(place.status, shown);
    }
    return false;
  }

  #read(place: Place, filter: JobFilter, queues: readonly string[], limit: number): Promise<Read> {
    if (place.status === 'pending') return this.#readPending(place, filter, queues, limit);
    return place.status === 'processing'
      ? this.#readProcessing(place, filter, limit)
      : this.#readById(place, filter, queues, limit);
  }

  async #readProcessing(place: Place, filter: JobFilter, limit: number): Promise<Read> {
    const before = place.after?.[0] ?? null;
    const rows = await this.#context.connection.run(this.#queries.processing, [
      filter.queue ?? null,
      filter.name ?? null,
      before,
      limit,
    ]);
    return readOf(place, rows, undefined, limit, limit, (row) => [textOf(row[0])]);
  }

  async #readPending(
    place: Place,
    filter: JobFilter,
    queues: readonly string[],
    limit: number,
  ): Promise<Read> {
    const queue = place.queue ?? queues[0];
    if (queue === undefined) return { jobs: [], next: null };
    const toRead = filter.name === undefined ? limit : rowsRead;
    const after = place.after ?? [null, null, null, null];
    const rows = await this.#context.connection.run(this.#queries.pending, [queue, ...after, toRead]);
    const keyOf = (row: Row): string[] => [
      textOf(row[lineColumn]),
      textOf(row[4]),
      textOf(row[9]),
      textOf(row[0]),
    ];
    const read = readOf({ ...place, queue }, rows, filter.name, limit, toRead, keyOf);
    if (read.next !== null) return read;
    const following = queues[queues.indexOf(queue) + 1];
    return {
      ...read,
      next: following === undefined ? null : { status: 'pending', queue: following, after: null },
    };
  }

  async #readById(place: Place, filter: JobFilter, queues: readonly string[], limit: number): Promise<Read> {
    const toRead = filter.name === undefined ? limit : rowsRead;
    const before = place.after?.[0] ?? null;
    const { connection } = this.#context;
    const rows =
      place.status === 'blocked'
        ? await connection.run(this.#queries.blocked, [textArray(queues), before, toRead])
        : await connection.run(this.#queries.ended, [
            textArray(queues),
            statusCode[place.status],
            before,
            toRead,
          ]);
    return readOf(place, rows, filter.name, limit, toRead, (row) => [textOf(row[0])]);
  }
}

/** The jobs of `rows` that are wanted, and where to go on. */
function readOf(
  place: Place,
  rows: readonly Row[],
  name: string | undefined,
  limit: number,
  asked: number,
  keyOf: (row: Row) => string[],
): Read {
  const jobs: JobSummary[] = [];
  for (const row of rows) {
    if (name !== undefined && row[1] !== name) continue;
    jobs.push(summaryOf(row));
    if (jobs.length === limit) return { jobs, next: { ...place, after: keyOf(row) } };
  }
  const last = rows.at(-1);
  return { jobs, next: rows.length < asked || last === undefined ? null : { ...place, after: keyOf(last) } };
}

function followingSection(status: JobStatus, shown: readonly JobStatus[]): Place | null {
  const next = shown[shown.indexOf(status) + 1];
  return next === undefined ? null : { status: next, queue: null, after: null };
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify([place.status, place.queue, ...(place.after ?? [])])).toString(
    'base64url',
  );
}

function parseCursor(cursor: string): Place {
  const parts = readJson(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(parts)) throw badCursor(cursor);
  const [status, queue, ...after] = parts as unknown[];
  const isWhole =
    isJobStatus(status) && (queue === null || typeof queue === 'string') && isPlace(status, after);
  if (!isWhole) throw badCursor(cursor);
  return { status, queue, after: after.length === 0 ? null : (after as string[]) };
}

function isPlace(status: JobStatus, after: readonly unknown[]): boolean {
  if (after.length === 0) return true;
  const id = after.at(-1);
  if (after.length !== (status === 'pending' ? 4 : 1) || typeof id !== 'string' || !isUuid(id)) return false;
  return after.slice(0, -1).every((part) => typeof part === 'string' && /^-?\d{1,16}$/.test(part));
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not one of ours; the caller says so.
    return null;
  }
}

const badCursor = (got: string): MillraceError =>
  new MillraceError(
    'cursor-invalid',
    `cursor: expected the "next" of a page of this database, got "${got.slice(0, 100)}"`,
    {
      details: { got },
    },
  );
