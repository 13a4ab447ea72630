/*
 * Plain settles. Each is one statement for a job to which nothing is tied: guarded by id, token and status, and found by
 * its id whatever the planner thinks. What they pass over goes the long way, which looks first.
 */

const guard = 'where id = ? and token = ? and status = 2';

/** Index jobs_id. */
export const complete = `
  update jobs indexed by jobs_id set status = 3, result = ?, outcome = ?, finished_at = ?
  ${guard} and tied = 0`;

/** Index jobs_id. Answers the queue, which makes it half as slow again. */
export const completeAskingQueue = `${complete} returning queue`;

/** Index jobs_id. Answers the queue. */
export const retry = `
  update jobs indexed by jobs_id
  set status = 0, token = null, attempts = attempts + 1, errors = ?, due_at = ?
  ${guard} and tied & 4 = 0
  returning queue`;

/** Index jobs_id. Answers the queue. */
export const putBack = `
  update jobs indexed by jobs_id set status = 0, token = null, reason = ?, due_at = coalesce(?, due_at)
  ${guard} and tied & 4 = 0
  returning queue`;
