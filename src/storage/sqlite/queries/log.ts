import { boundLimit } from '../bound-limit.js';

/** Index jobs_id. The present lease, or the one that ended the job. */
export const leaseOf = `
  select row, leases as lease from jobs indexed by jobs_id where id = ? and token = ? and status >= 2`;

/** Index job_log_line. */
export const sizeOf = `
  select count(*) as lines, coalesce(sum(bytes), 0) as bytes from job_log indexed by job_log_line where job = ?`;

/** Index job_log_line. */
export const isKnown =
  'select 1 from job_log indexed by job_log_line where job = ? and lease = ? and seq = ?';

export const insertLine = `
  insert into job_log (job, lease, seq, bytes, at, kind, level, text) values (?, ?, ?, ?, ?, ?, ?, ?)`;

/** Index jobs_id. */
export const rowOf = 'select row from jobs indexed by jobs_id where id = ?';

/** Index job_log_line: a range in order. */
export const linesAfter = `
  select lease, seq, at, kind, level, text from job_log indexed by job_log_line
  where job = ? and (lease, seq) > (?, ?) order by lease, seq ${boundLimit}`;
