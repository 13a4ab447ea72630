import { boundLimit } from '../bound-limit.js';

/** By primary key. */
export const requestStop = 'update jobs set stop = ?, tied = tied | 4 where row = ? and status = 2';

/** By primary key. */
export const resetForRetry = `
  update jobs set attempts = 0, deaths = 0, lapses = 0, line = iif(line < 0, ~line, line), finished_at = null, tied = ? where row = ?`;

/** By primary key. What is null stays; a new due time forgets the reason. */
export const edit = `
  update jobs set rank = coalesce(?, rank), due_at = coalesce(?, due_at), reason = iif(?, null, reason),
    payload = coalesce(?, payload), version = coalesce(?, version)
  where row = ?`;

/** By primary key. */
export const moveToKind = 'update jobs set queue = ?, kind = ? where row = ?';

/** Index jobs_listed, oldest first. */
export const buriedAfter = `
  select row, id, queue from jobs indexed by jobs_listed
  where status = 4 and status not in (0, 2) and id > ? order by id ${boundLimit}`;

/** Index jobs_ended: those without a retention of their own. Parents that others may still need are passed over. */
export const purgeable = `
  select row from jobs indexed by jobs_ended
  where status = ? and status >= 3 and retention_ms is null and finished_at <= ?
    and (tied & 1 = 0 or not exists (
      select 1 from edges e indexed by edges_parent cross join jobs c not indexed on c.row = e.child
      where e.parent = jobs.row and c.status < 3))
  order by finished_at ${boundLimit}`;

/** Index jobs_ended_kept: those with one, for each retention there is. */
export const purgeableKept = `
  select row from jobs indexed by jobs_ended_kept
  where status = ? and status >= 3 and retention_ms is not null and retention_ms = ? and finished_at <= ?
    and (tied & 1 = 0 or not exists (
      select 1 from edges e indexed by edges_parent cross join jobs c not indexed on c.row = e.child
      where e.parent = jobs.row and c.status < 3))
  order by finished_at ${boundLimit}`;

/** Index jobs_ended_kept: the next retention in use; one seek. */
export const nextRetention = `
  select retention_ms from jobs indexed by jobs_ended_kept
  where status = ? and status >= 3 and retention_ms is not null and retention_ms > ?
  order by retention_ms limit 1`;

/** Index job_log_at. */
export const purgeLines = `
  delete from job_log where rowid in (select rowid from job_log indexed by job_log_at where at <= ? ${boundLimit})`;

/** Index workers_heartbeat. */
export const purgeWorkers = `
  delete from workers where id in
    (select id from workers indexed by workers_heartbeat where heartbeat_at <= ? and admin_state = 'active' ${boundLimit})`;

/** Those that are kept for their admin state. Index workers_heartbeat. */
export const hideWorkers = `
  update workers set forgotten = 1 where id in
    (select id from workers indexed by workers_heartbeat where heartbeat_at <= ? and forgotten = 0 ${boundLimit})`;

/** By primary key. */
export const purgeAudit = `
  delete from audit where (at, id) in (select at, id from audit where at <= ? order by at, id ${boundLimit})`;
