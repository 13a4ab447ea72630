import { boundLimit } from '../bound-limit.js';

export interface ExpiredRow {
  readonly id: Buffer;
  readonly token: Buffer;
  readonly kind: number;
  readonly worker: string | null;
  readonly started: number;
  readonly line: number;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly deaths: number;
  readonly lapses: number;
  readonly errors: string | null;
  readonly stop: number | null;
  readonly leaseUntil: number;
}

/** Index jobs_lease, whole: as many rows as jobs run at this moment. */
export const expired = `
  select id, token, kind, worker, started, line, attempts, max_attempts as maxAttempts, deaths, lapses, errors, stop,
    lease_until as leaseUntil
  from jobs indexed by jobs_lease
  where status = 2 and token is not null and lease_until <= ? and (lease_until, id) > (?, ?)
  order by lease_until, id ${boundLimit}`;

/** By primary key. */
export const countLapse = 'update jobs set lapses = lapses + 1 where row = ?';

/** By primary key. */
export const countDeath = 'update jobs set deaths = deaths + 1, errors = ? where row = ?';

export interface BlockedPlace {
  readonly queue: number;
  readonly row: number;
}

/** Index jobs_blocked, covered, in pages. */
export const blockedAfter = `
  select queue, row from jobs indexed by jobs_blocked
  where status = 1 and (queue, row) > (?, ?) order by queue, row ${boundLimit}`;

/** By primary keys. A parent that is gone has no row. */
export const openParents = `
  select p.status from edges e left join jobs p not indexed on p.row = e.parent where e.child = ? and e.open = 1`;

export const closeEdges = 'update edges set open = 0 where child = ?';

export const stopWaiting = 'update jobs set waits = 0 where row = ? and status = 1 returning policy';
