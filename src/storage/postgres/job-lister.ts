import { isJobStatus, type JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import { isUuid } from '../../internal/uuid.js';
import { fits, hasDetails, lastFailureHas, mostErrorsRead, mostLookedAt } from '../job-filter.js';
import type { JobFilter, JobPage, JobPageRequest, JobSummary } from '../job-record.js';
import { textArray } from './arrays.js';
import { statusCode } from './codes.js';
import type { Context } from './context.js';
import { summaryColumns, summaryOf } from './job-summary.js';
import type { InspectQueries } from './queries/inspect.js';
import { type Row, textOf } from './statement.js';

const statuses: readonly JobStatus[] = [
  'processing',
  'pending',
  'blocked',
  'buried',
  'cancelled',
  'completed',
];
/** Behind the summary come the failures, where they are asked for, and the line. */
const lineColumn = summaryColumns + 1;

/** Jobs of one status, or all of one tag. */
type Section = JobStatus | 'tagged';

/** What a page is to show, and how. */
interface Look {
  readonly filter: JobFilter;
  readonly queues: readonly string[];
  readonly sections: readonly Section[];
  /** Rows that are read may not fit: more are read than shown, up to `rows` a page. */
  readonly isSifted: boolean;
  readonly withErrors: boolean;
  readonly rows: number;
}

/** Where the next page begins: a section, and in it the last row that was read. */
interface Place {
  readonly section: Section;
  /** Only for pending: they are listed queue by queue. */
  readonly queue: string | null;
  readonly after: readonly string[] | null;
}

interface Read {
  readonly jobs: JobSummary[];
  /** Null: the section holds no more. */
  readonly next: Place | null;
  readonly looked: number;
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

  async page(filter: JobFilter, { limit, cursor }: JobPageRequest): Promise<JobPage> {
    const look = await this.#look(filter);
    let place: Place | null = cursor === undefined ? firstPlace(look) : parseCursor(cursor);
    if (place !== null && !look.sections.includes(place.section)) throw badCursor(cursor ?? '');
    const jobs: JobSummary[] = [];
    let left = look.rows;
    while (place !== null && jobs.length < limit) {
      const read: Read = await this.#read(place, look, limit - jobs.length);
      jobs.push(...read.jobs);
      place = read.next ?? followingSection(place.section, look);
      left -= read.looked;
      if (left <= 0) break;
    }
    const hasNext = place !== null && (left <= 0 || (await this.#hasMore(place, look)));
    return { jobs, next: place === null || !hasNext ? null : cursorOf(place) };
  }

  /** Whether anything stands from here on; looked up so that the last page says so. */
  async #hasMore(from: Place, look: Look): Promise<boolean> {
    let left = look.rows;
    for (let place: Place | null = from; place !== null; ) {
      const read: Read = await this.#read(place, look, 1);
      left -= read.looked;
      if (read.jobs.length > 0 || left <= 0) return true;
      place = read.next ?? followingSection(place.section, look);
    }
    return false;
  }

  async #look(filter: JobFilter): Promise<Look> {
    const isSifted = filter.name !== undefined || filter.tag !== undefined || hasDetails(filter);
    const withErrors = filter.errorText !== undefined;
    return {
      filter,
      queues: filter.queue === undefined ? await this.queues() : [filter.queue],
      sections:
        filter.tag !== undefined ? ['tagged'] : filter.status === undefined ? statuses : [filter.status],
      isSifted,
      withErrors,
      rows: withErrors ? mostErrorsRead : mostLookedAt,
    };
  }

  #read(place: Place, look: Look, limit: number): Promise<Read> {
    if (place.section === 'pending') return this.#readPending(place, look, limit);
    return this.#readById(place, look, limit);
  }

  async #readPending(place: Place, look: Look, limit: number): Promise<Read> {
    const { queues, withErrors } = look;
    const queue = place.queue ?? queues[0];
    if (queue === undefined) return { jobs: [], next: null, looked: 0 };
    const toRead = rowsToRead(look, limit);
    const after = place.after ?? [null, null, null, null];
    const values = [queue, ...after, toRead, withErrors];
    const rows = await this.#context.connection.run(this.#queries.pending, values);
    const keyOf = (row: Row): string[] => [
      textOf(row[lineColumn]),
      textOf(row[4]),
      textOf(row[9]),
      textOf(row[0]),
    ];
    const read = readOf({ ...place, queue }, rows, look, { limit, asked: toRead, keyOf });
    if (read.next !== null) return read;
    const following = queues[queues.indexOf(queue) + 1];
    return {
      ...read,
      next: following === undefined ? null : { section: 'pending', queue: following, after: null },
    };
  }

  async #readById(place: Place, look: Look, limit: number): Promise<Read> {
    const asked = rowsToRead(look, limit);
    const rows = await this.#rowsById(place, look, asked);
    return readOf(place, rows, look, { limit, asked, keyOf: (row) => [textOf(row[0])] });
  }

  #rowsById({ section, after }: Place, { filter, queues, withErrors }: Look, count: number): Promise<Row[]> {
    const { connection } = this.#context;
    const before = after?.[0] ?? null;
    switch (section) {
      case 'tagged':
        return connection.run(this.#queries.tagged, [filter.tag, before, count, withErrors]);
      case 'processing': {
        const { queue = null, name = null } = filter;
        return connection.run(this.#queries.processing, [queue, name, before, count, withErrors]);
      }
      case 'blocked':
        return connection.run(this.#queries.blocked, [textArray(queues), before, count, withErrors]);
      default: {
        const values = [textArray(queues), statusCode[section], before, count, withErrors];
        return connection.run(this.#queries.ended, values);
      }
    }
  }
}

const rowsToRead = ({ isSifted, rows }: Look, limit: number): number => (isSifted ? rows : limit);

/** The jobs of `rows` that are wanted, and where to go on. */
function readOf(
  place: Place,
  rows: readonly Row[],
  look: Look,
  { limit, asked, keyOf }: { limit: number; asked: number; keyOf: (row: Row) => string[] },
): Read {
  const jobs: JobSummary[] = [];
  for (const [index, row] of rows.entries()) {
    const job = summaryOf(row);
    if (!fits(look.filter, job) || !hasText(look.filter, row)) continue;
    jobs.push(job);
    if (jobs.length === limit) return { jobs, next: { ...place, after: keyOf(row) }, looked: index + 1 };
  }
  const last = rows.at(-1);
  const next = rows.length < asked || last === undefined ? null : { ...place, after: keyOf(last) };
  return { jobs, next, looked: rows.length };
}

const hasText = ({ errorText }: JobFilter, row: Row): boolean =>
  errorText === undefined || lastFailureHas(row[summaryColumns] ?? null, errorText);

const firstPlace = ({ sections }: Look): Place => ({
  section: sections[0] ?? 'processing',
  queue: null,
  after: null,
});

function followingSection(section: Section, { sections }: Look): Place | null {
  const next = sections[sections.indexOf(section) + 1];
  return next === undefined ? null : { section: next, queue: null, after: null };
}

function cursorOf(place: Place): string {
  return Buffer.from(JSON.stringify([place.section, place.queue, ...(place.after ?? [])])).toString(
    'base64url',
  );
}

function parseCursor(cursor: string): Place {
  const parts = readJson(Buffer.from(cursor, 'base64url').toString());
  if (!Array.isArray(parts)) throw badCursor(cursor);
  const [section, queue, ...after] = parts as unknown[];
  const isWhole =
    isSection(section) && (queue === null || typeof queue === 'string') && isPlace(section, after);
  if (!isWhole) throw badCursor(cursor);
  return { section, queue, after: after.length === 0 ? null : (after as string[]) };
}

const isSection = (value: unknown): value is Section => value === 'tagged' || isJobStatus(value);

function isPlace(section: Section, after: readonly unknown[]): boolean {
  if (after.length === 0) return true;
  const id = after.at(-1);
  if (after.length !== (section === 'pending' ? 4 : 1) || typeof id !== 'string' || !isUuid(id)) return false;
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
