import type { NewJob } from '../../new-job.js';
import { ordinaryLine, scopeCode } from '../codes.js';
import type { Lane } from '../lanes.js';
import { hexId, hexText, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';
import { holdLanes, insertMembers, requireLines } from './lines.js';

/** A job whose names have their numbers. */
export interface NumberedJob {
  readonly job: NewJob;
  readonly queueId: number;
  readonly nameId: number;
  readonly line: number;
}

/**
 * Body and place in one packet and transaction. A doubled id fails the whole; the careful path then looks row by row. A line
 * that is gone fails it as a count mismatch.
 */
export function enqueueStatements(t: Tables, jobs: readonly NumberedJob[], now: Sql): Sql[] {
  const ready = jobs.map(
    ({ job, queueId, nameId, line }) =>
      sql`(${queueId}, ${line}, ${0 - job.priority}, ${dueOf(job)}, ${hexId(job.id)}, ${nameId}, 0)`,
  );
  const lined = jobs.filter(({ line }) => line !== ordinaryLine);
  return [
    sql`set @now = ${now}`,
    ...(lined.length > 0
      ? [
          requireLines(t, linesOf(lined)),
          holdLanes(t, lined.map(laneOf), sql`@now`),
          insertMembers(t, lined.map(memberOf)),
        ]
      : []),
    insertBodies(t, jobs),
    sql`insert into ${t.ready} (queue_id, line, rnk, due, id, name_id, flags) values ${ready}`,
  ];
}

/** In ascending order, as everybody locks them. */
export function linesOf(jobs: readonly Pick<NumberedJob, 'line'>[]): number[] {
  return [...new Set(jobs.map(({ line }) => line))].sort((a, b) => a - b);
}

export function laneOf({ job, queueId, nameId, line }: NumberedJob): Lane {
  return { queueId, line, rnk: 0 - job.priority, nameId };
}

export function memberOf({ job, line }: NumberedJob): { line: number; id: Sql } {
  return { line, id: hexId(job.id) };
}

export function insertBodies(t: Tables, jobs: readonly NumberedJob[]): Sql {
  const areLined = jobs.some(({ line }) => line !== ordinaryLine);
  const column = areLined ? sql`, line` : sql``;
  const rows = jobs.map(({ job, queueId, nameId, line }) => {
    const { unique } = job;
    const last = areLined ? sql`, ${line === ordinaryLine ? null : line}` : sql``;
    return sql`(${hexId(job.id)}, ${queueId}, ${nameId}, ${0 - job.priority}, ${dueOf(job)}, @now, ${job.maxAttempts},
      ${job.retentionMs}, ${unique === null ? null : scopeCode[unique.scope]}, ${hexText(unique?.key ?? null)}, ${job.version}, ${hexText(job.payload)}${last})`;
  });
  return sql`insert into ${t.jobs} (id, queue_id, name_id, rnk, due, created_at, max_attempts, retention, unique_scope,
    unique_key, version, payload${column}) values ${rows}`;
}

export interface TagRow {
  readonly tag: string;
  readonly id: string;
}

export function insertTags(t: Tables, tags: readonly TagRow[]): Sql {
  const rows = tags.map(({ tag, id }) => sql`(${hexText(tag)}, ${hexId(id)})`);
  return sql`insert into ${t.tags} (tag, job_id) values ${rows}`;
}

function dueOf({ due }: NewJob): Sql {
  return 'atMs' in due ? sql`${due.atMs}` : sql`@now + ${due.inMs}`;
}
