import type { Schema } from '../statement.js';

/** Whose due jobs are read, in terms of the query around it. */
export interface Range {
  readonly queue: string;
  readonly line: string;
  readonly rank: string;
  /** An array of the names that are known, and whether the queue holds others. */
  readonly names: string;
  readonly mixed: string;
  readonly now: string;
  readonly limit: string;
}

/**
 * The first due jobs of one line and rank, as (tid, due, id) in the order of the claim: one range of jobs_claim, or,
 * where the queue holds names that the worker does not know, one range of jobs_claim_named per known name.
 */
export const dueRange = (s: Schema, { queue, line, rank, names, mixed, now, limit }: Range): string => `
  select a.tid, a.due, a.id from (
    select j.ctid as tid, j.due, j.id from ${s}.jobs j
     where not ${mixed} and j.queue = ${queue} and j.line = ${line} and j.rank = ${rank} and j.status = 0 and j.due <= ${now}
     order by j.due, j.id limit ${limit}) a
  union all
  select b.tid, b.due, b.id from (${namedRange(s, { queue, line, rank, names, mixed, now, limit })}) b`;

/**
 * The same, each row locked while the query around it pulls it; a row that another transaction has locked is passed over.
 * Rows of several names are fetched by ctid and guarded by a token that is null, see queries/claim.ts.
 */
export const lockedRange = (s: Schema, range: Range): string => `
  select a.tid, a.due, a.id from (
    select j.ctid as tid, j.due, j.id from ${s}.jobs j
     where not ${range.mixed} and j.queue = ${range.queue} and j.line = ${range.line} and j.rank = ${range.rank} and j.status = 0
       and j.due <= ${range.now}
     order by j.due, j.id limit ${range.limit} for update skip locked) a
  union all
  select b.tid, b.due, b.id from (
    select j.ctid as tid, j.due, j.id from ${s}.jobs j
     where ${range.mixed} and j.token is null and j.due <= ${range.now}
       and j.ctid = any(array(select r.tid from (${namedRange(s, range)}) r))
     order by j.due, j.id limit ${range.limit} for update skip locked) b`;

const namedRange = (s: Schema, { queue, line, rank, names, mixed, now, limit }: Range): string => `
    select m.tid, m.due, m.id from ${s}.kinds k
     cross join lateral (
       select i.ctid as tid, i.due, i.id from ${s}.jobs i
        where i.queue = ${queue} and i.line = ${line} and i.name = k.name and i.rank = ${rank} and i.status + 0 = 0 and i.due <= ${now}
        order by i.due, i.id limit ${limit}) m
     where ${mixed} and k.queue = ${queue} and k.rank = ${rank} and k.name = any(${names})
     order by m.due, m.id limit ${limit}`;
