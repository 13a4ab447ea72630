/** What a transition of one job needs to know of it, long texts left out. */
export interface JobRow {
  readonly row: number;
  readonly id: Buffer;
  readonly status: number;
  readonly queue: number;
  readonly kind: number;
  readonly line: number;
  readonly metered: number;
  readonly tied: number;
  readonly scope: number;
  readonly stop: number | null;
  readonly token: Buffer | null;
  readonly leaseUntil: number | null;
  readonly uniqueKey: string | null;
}

const columns =
  'row, id, status, queue, kind, line, metered, tied, scope, stop, token, lease_until as leaseUntil, unique_key as uniqueKey';

/** Index jobs_id. */
export const jobById = `select ${columns} from jobs indexed by jobs_id where id = ?`;

/** By primary key. */
export const jobByRow = `select ${columns} from jobs where row = ?`;

/** By primary key. Whatever the status was; a token means that its settlement ended the job. */
export const end = `
  update jobs set status = ?, reason = ?, token = ?, finished_at = ?, stop = null, tied = tied & 1 where row = ?`;

/** By primary key. */
export const endCompleted = `
  update jobs set status = 3, result = ?, outcome = ?, reason = null, finished_at = ?, stop = null, tied = tied & 1
  where row = ?`;

/** By primary key. The due time is kept where none is given. */
export const makePending = `
  update jobs set status = 0, token = null, stop = null, tied = tied & 3, reason = ?,
    due_at = coalesce(?, due_at)
  where row = ?`;

/** By primary key. */
export const chargeAttempt = 'update jobs set attempts = attempts + 1, errors = ? where row = ?';

/** By primary key. What must run alone stays so. */
export const afterDeath =
  'update jobs set due_at = ?, line = iif(? and line >= 0, ~line, line) where row = ?';

/** Index edges_parent, then by primary key. */
export const waitingDependents = `
  select e.child as row, j.policy
  from edges e indexed by edges_parent cross join jobs j not indexed on j.row = e.child
  where e.parent = ? and e.open = 1 and j.status = 1`;

/** By primary key. */
export const closeEdge = 'update edges set open = 0 where child = ? and parent = ?';

/** By primary key. */
export const closeEdgesOfChild = 'update edges set open = 0 where child = ? and open = 1';

/** By primary key. */
export const waitForOneLess = 'update jobs set waits = waits - 1 where row = ? returning waits';

export const deleteEdgesOfChild = 'delete from edges where child = ?';

/** Index edges_parent. */
export const deleteEdgesOfParent = 'delete from edges indexed by edges_parent where parent = ?';

/** Index idempotency_keys_job. */
export const deleteIdempotency = 'delete from idempotency_keys where job = ?';

/** Index job_log_line. */
export const deleteLog = 'delete from job_log where job = ?';

/** Index tags_row. */
export const deleteTags = 'delete from tags where row = ?';

/** By primary key. */
export const deleteJob = 'delete from jobs where row = ?';
