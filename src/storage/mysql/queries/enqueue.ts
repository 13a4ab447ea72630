import type { NewJob } from '../../new-job.js';
import { ordinaryLine, scopeCode } from '../codes.js';
import { hexId, hexText, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** A job whose names have their numbers. */
export interface NumberedJob {
  readonly job: NewJob;
  readonly queueId: number;
  readonly nameId: number;
}

/** Body and place in one packet and transaction. A doubled id fails the whole; the careful path then looks row by row. */
export function enqueueStatements(t: Tables, jobs: readonly NumberedJob[], now: Sql): Sql[] {
  const ready = jobs.map(
    ({ job, queueId, nameId }) =>
      sql`(${queueId}, ${ordinaryLine}, ${0 - job.priority}, ${dueOf(job)}, ${hexId(job.id)}, ${nameId}, 0)`,
  );
  return [
    sql`set @now = ${now}`,
    insertBodies(t, jobs),
    sql`insert into ${t.ready} (queue_id, line, rnk, due, id, name_id, flags) values ${ready}`,
  ];
}

export function insertBodies(t: Tables, jobs: readonly NumberedJob[]): Sql {
  const rows = jobs.map(({ job, queueId, nameId }) => {
    const { unique } = job;
    return sql`(${hexId(job.id)}, ${queueId}, ${nameId}, ${0 - job.priority}, ${dueOf(job)}, @now, ${job.maxAttempts},
      ${job.retentionMs}, ${unique === null ? null : scopeCode[unique.scope]}, ${hexText(unique?.key ?? null)}, ${job.version}, ${hexText(job.payload)})`;
  });
  return sql`insert into ${t.jobs} (id, queue_id, name_id, rnk, due, created_at, max_attempts, retention, unique_scope,
    unique_key, version, payload) values ${rows}`;
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
