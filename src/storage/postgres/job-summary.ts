import type { JobSummary } from '../job-record.js';
import { statusOf } from './codes.js';
import { intOf, intOrNull, type Row, textOf } from './statement.js';

/** Columns with which every list begins. */
export const summaryColumns = 14;

export function summaryOf(row: Row): JobSummary {
  const [
    id,
    name,
    queue,
    status,
    rank,
    attempts,
    maxAttempts,
    deaths,
    createdAt,
    due,
    claimedAt,
    finishedAt,
    worker,
    tags,
  ] = row;
  return {
    id: textOf(id),
    name: textOf(name),
    queue: textOf(queue),
    status: statusOf(intOf(status)),
    priority: 0 - intOf(rank),
    attempts: intOf(attempts),
    maxAttempts: intOf(maxAttempts),
    deaths: intOf(deaths),
    createdAtMs: intOf(createdAt),
    dueAtMs: intOf(due),
    claimedAtMs: intOrNull(claimedAt),
    finishedAtMs: intOrNull(finishedAt),
    workerId: worker ?? null,
    tags: tags === null || tags === undefined ? [] : tags.split(' ').sort(),
  };
}
