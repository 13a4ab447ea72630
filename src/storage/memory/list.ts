import { MillraceError } from '../../internal/errors.js';
import { inClaimOrder } from '../choose-jobs.js';
import { fits, lastFailureHas } from '../job-filter.js';
import type { JobFilter, JobPage, JobPageRequest } from '../job-record.js';
import { listOrder } from '../sql/status-codes.js';
import { summaryOf } from './inspect.js';
import { byId, type MemoryJob, type MemoryState } from './state.js';

/** What the order of a list is made of: the place of a job, also once that job has moved on. */
type Place = Pick<MemoryJob, 'id' | 'status' | 'alone' | 'priority' | 'dueAtMs'>;

/** The order is computed anew for each page; the cursor is the place of the last job shown. */
export function jobs(state: MemoryState, filter: JobFilter, page: JobPageRequest): JobPage {
  const order = filter.tag === undefined ? inListOrder : newestFirst;
  const after = page.cursor === undefined ? null : parseCursor(page.cursor);
  const found = [...state.jobs.values()]
    .filter((row) => isWanted(row, filter) && (after === null || order(after, row) < 0))
    .sort(order);
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  const next = last === undefined || found.length === shown.length ? null : cursorOf(last);
  return { jobs: shown.map(summaryOf), next };
}

function isWanted(row: MemoryJob, filter: JobFilter): boolean {
  const { tag, errorText } = filter;
  if (!fits(filter, row) || (tag !== undefined && !row.tags.includes(tag))) return false;
  return errorText === undefined || lastFailureHas(row.errors, errorText);
}

const newestFirst = (a: Place, b: Place): number => byId(b, a);

function inListOrder(a: Place, b: Place): number {
  const byStatus = listOrder.indexOf(a.status) - listOrder.indexOf(b.status);
  if (byStatus !== 0) return byStatus;
  if (a.status !== 'pending') return newestFirst(a, b);
  return Number(b.alone) - Number(a.alone) || inClaimOrder(a, b);
}

function cursorOf({ status, alone, priority, dueAtMs, id }: Place): string {
  return `${listOrder.indexOf(status)}.${Number(alone)}.${priority}.${dueAtMs}.${id}`;
}

function parseCursor(cursor: string): Place {
  const [, status, alone, priority, due, id] =
    /^([0-5])\.([01])\.(-?\d+)\.(-?\d+)\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  const known = listOrder[Number(status)];
  if (id === undefined || known === undefined) {
    throw new MillraceError('cursor-invalid', `cursor: expected the "next" of a page, got "${cursor}"`);
  }
  return { status: known, alone: alone === '1', priority: Number(priority), dueAtMs: Number(due), id };
}
