/*
 * Plain settles. Each is one statement for a job to which nothing is tied: guarded by id, token and status, and found by
 * its id whatever the planner thinks. What they pass over goes the long way, which looks first.
 */

const guard = 'where id = ? and token = ? and status = 2';

/** Index jobs_id. */
export const complete = `
  update jobs indexed by jobs_id set status = 3, result = ?, outcome = ?, finished_at = ?
  ${guard} and tied = 0`;

/** What a plain settle answers: isCounted = 1 where a limit or a budget counted the job. */
export interface SettledRow {
  readonly queue: number;
  readonly kind: number;
  readonly isCounted: number;
}

const settled = 'queue, kind, metered = 1 or line not in (0, -1) as isCounted';

/** Index jobs_id. Answers what was settled, which makes it half as slow again. */
export const completeAsking = `${complete} returning ${settled}`;

/** Index jobs_id. */
export const retry = `
  update jobs indexed by jobs_id
  set status = 0, token = null, attempts = attempts + 1, errors = ?, due_at = ?
  ${guard} and tied & 4 = 0
  returning ${settled}`;

/** Index jobs_id. */
export const putBack = `
  update jobs indexed by jobs_id set status = 0, token = null, reason = ?, due_at = coalesce(?, due_at)
  ${guard} and tied & 4 = 0
  returning ${settled}`;
