import type { NewJob } from '../new-job.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import { termsOf } from './bounds.js';
import type { Line } from './line-registry.js';

const rankOf = (job: NewJob): number => (job.priority === 0 ? 0 : -job.priority);
const inMsOf = (job: NewJob): number | null => ('inMs' in job.due ? Math.round(job.due.inMs) : null);
const atMsOf = (job: NewJob): number | null => ('atMs' in job.due ? Math.round(job.due.atMs) : null);

/** The first nine parameters of a statement that inserts one job. */
export function jobValues(job: NewJob): unknown[] {
  const { id, queue, name, payload, maxAttempts, retentionMs } = job;
  return [id, queue, name, rankOf(job), inMsOf(job), atMsOf(job), payload, maxAttempts, retentionMs];
}

/** Versions of the payloads, which stand last where a statement inserts jobs. */
export const versionColumn = (jobs: readonly NewJob[]): string => plainArray(jobs.map((job) => job.version));

/** The same nine as arrays. */
export function jobColumns(jobs: readonly NewJob[]): unknown[] {
  return [
    uuidArray(jobs.map((job) => job.id)),
    textArray(jobs.map((job) => job.queue)),
    textArray(jobs.map((job) => job.name)),
    plainArray(jobs.map(rankOf)),
    plainArray(jobs.map(inMsOf)),
    plainArray(jobs.map(atMsOf)),
    textArray(jobs.map((job) => job.payload)),
    plainArray(jobs.map((job) => job.maxAttempts)),
    plainArray(jobs.map((job) => job.retentionMs)),
  ];
}

/** What bounds the jobs: lines, gates, groups, maxima, costs, terms; 0 and nulls for ordinary ones. */
export function boundColumns(jobs: readonly NewJob[], lines: ReadonlyMap<string, Line>): unknown[] {
  const terms = jobs.map(termsOf);
  const own = terms.map((text) => (text === null ? null : (lines.get(text) ?? null)));
  return [
    plainArray(own.map((line) => line?.id ?? 0)),
    plainArray(own.map((line) => line?.gate ?? null)),
    plainArray(own.map((line) => line?.groupId ?? null)),
    plainArray(jobs.map((job) => job.limit?.max ?? null)),
    plainArray(jobs.map((job, index) => (terms[index] === null ? null : job.cost))),
    textArray(terms),
  ];
}
