import { boundLimit } from '../bound-limit.js';

/** Index jobs_claim, covered: up to a number. */
export const countWaiting = `
  select count(*) from (
    select 1 from jobs indexed by jobs_claim where status = 0 and queue = ? and kind = ? and line = ? ${boundLimit})`;

/** Index jobs_claim, covered: the next line of a kind, of those that must run alone too; one seek. */
export const nextLine = `
  select line from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line > ? order by line limit 1`;
