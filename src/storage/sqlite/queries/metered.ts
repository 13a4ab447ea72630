/** Jobs of a queue and line that run; metered: 1 under a budget of the queue. */
export type RunningTuple = readonly [queue: number, line: number, metered: number, count: number];

/** Index jobs_metered, covered: as many rows as jobs run under a limit or budget at this moment. */
export const running = `
  select queue, line, metered, count(*) from jobs indexed by jobs_metered
  where status = 2 and (metered = 1 or line not in (0, -1)) group by queue, line, metered`;

/** A line and rank in which jobs of a kind wait, and of the first of them when it is due and its id in hexadecimal digits. */
export type StretchTuple = readonly [line: number, rank: number, dueAt: number, id: string];

/** Index jobs_claim, covered: the next line and rank of a kind, from behind every job of the one before; one seek. */
export const nextStretch = `
  select line, rank, due_at, hex(id) from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and (line, rank, due_at) > (?, ?, 9007199254740991)
  order by line, rank, due_at, id limit 1`;

/** Index jobs_claim, covered: the first of a line and rank, due or not; one seek. */
export const firstOfStretch = `
  select due_at as dueAt, hex(id) as id from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank = ? order by due_at, jobs.id limit 1`;

/** Index jobs_claim: when the first after a time falls due; one seek. */
export const firstDueAfter = `
  select due_at from jobs indexed by jobs_claim
  where status = 0 and queue = ? and kind = ? and line = ? and rank = ? and due_at > ? order by due_at limit 1`;
