import { nowMs, type Schema, type Statement } from '../statement.js';

const live =
  'j.id, j.name, j.queue, j.status, j.rank, j.attempts, j.max_attempts, j.deaths, j.created_at, j.due, j.claimed_at, null::bigint, j.worker';
const ended =
  'h.id, h.name, h.queue, h.status, h.rank, h.attempts, h.max_attempts, h.deaths, h.created_at, h.due, h.claimed_at, h.finished_at, h.worker';

export const inspectQueries = (s: Schema) =>
  ({
    /** Needs jobs_id, history_id. $1 id */
    job: {
      name: 'millrace_job',
      text: `select ${live}, j.payload, null, j.errors, null, j.reason, j.stop_request, j.lease_until, j.started, j.lapses, j.line, j.unique_key,
             j.retention, (select string_agg(e.parent::text, ',' order by e.parent) from ${s}.dependencies e
                            where j.status = 2 and e.child = j.id and not e.met)
        from ${s}.jobs j where j.id = $1::uuid
      union all
      select ${ended}, h.payload, h.result, h.errors, h.outcome, h.reason, 0, null, false, h.lapses, h.line, h.unique_key, h.retention, null
        from ${s}.history h where h.id = $1::uuid`,
    },

    /** Needs jobs_id, history_id. $1 ids */
    endings: {
      name: 'millrace_endings',
      text: `select j.id, j.status, null, j.errors, j.reason from ${s}.jobs j where j.id = any($1::uuid[])
      union all select h.id, h.status, h.result, h.errors, h.reason from ${s}.history h where h.id = any($1::uuid[])`,
    },

    /** Needs history_id, backwards; reads every live id. $1 pattern, $2 newest final ones */
    endingIn: {
      name: 'millrace_ending_in',
      text: `(select j.id from ${s}.jobs j where j.id::text like $1 limit 10)
      union all
      (select h.id from (select i.id from ${s}.history i order by i.id desc limit $2::int) h where h.id::text like $1 limit 10)
      limit 10`,
    },

    /** Running jobs, newest first: few, so they are sorted. Needs jobs_lease. $1 queue or null, $2 name or null, $3 before id or null, $4 limit */
    processing: {
      name: 'millrace_list_processing',
      text: `select p.* from (select ${live} from ${s}.jobs j where j.status = 1 and ($1::text is null or j.queue = $1)
          and ($2::text is null or j.name = $2) and ($3::uuid is null or j.id < $3::uuid) offset 0) p(id)
      order by p.id desc limit $4::int`,
    },

    /**
     * Pending jobs in the order of jobs_claim, from a place in it on. At most $6 rows are read, so that a name that is rare
     * can't make one page read a million: the last one read is the next place.
     * $1 queue, $2 … $5 after line, rank, due, id, $6 rows to read
     */
    pending: {
      name: 'millrace_list_pending',
      text: `select ${live}, j.line from ${s}.jobs j where j.queue = $1 and j.status = 0 and ($2::int is null or (j.line, j.rank, j.due, j.id) > ($2::int, $3::smallint, $4::bigint, $5::uuid))
      order by j.line, j.rank, j.due, j.id limit $6::int`,
    },

    /** Blocked jobs of some queues, newest first. Needs jobs_blocked. $1 queues, $2 before id or null, $3 rows to read */
    blocked: {
      name: 'millrace_list_blocked',
      text: `select x.* from unnest($1::text[]) q(queue) cross join lateral (
        select ${live} from ${s}.jobs j where j.queue = q.queue and j.status = 2 and ($2::uuid is null or j.id < $2::uuid)
         order by j.id desc limit $3::int) x(id) order by x.id desc limit $3::int`,
    },

    /** Final jobs of one status of some queues, newest first. Needs history_list. $1 queues, $2 status, $3 before id or null, $4 rows to read */
    ended: {
      name: 'millrace_list_ended',
      text: `select x.* from unnest($1::text[]) q(queue) cross join lateral (
        select ${ended} from ${s}.history h where h.queue = q.queue and h.status = $2::smallint and ($3::uuid is null or h.id < $3::uuid)
         order by h.id desc limit $4::int) x(id) order by x.id desc limit $4::int`,
    },

    /** Every queue that was ever dispatched to, ended something or is paused. */
    queues: {
      name: 'millrace_queues',
      text: `select queue from ${s}.kinds union select queue from ${s}.paused union select queue from ${s}.counts order by 1`,
    },

    /** Needs jobs_claim (read as a whole for the queues asked for), jobs_blocked, jobs_lease. $1 queues, $2 offset */
    stats: {
      name: 'millrace_stats',
      text: `select q.queue, (select p.queue from ${s}.paused p where p.queue = q.queue) is not null,
             w.pending, w.claimable, b.n, (select count(*) from ${s}.jobs r where r.status = 1 and r.queue = q.queue),
             e.completed, e.buried, e.cancelled, t.now - w.oldest
        from (select ${nowMs('$2')} as now offset 0) t, unnest($1::text[]) q(queue)
        cross join lateral (
          select count(*) as pending, count(*) filter (where j.line = 0 and j.due <= t.now) as claimable,
                 min(j.due) filter (where j.line = 0 and j.due <= t.now) as oldest
            from ${s}.jobs j where j.queue = q.queue and j.status = 0) w
        cross join lateral (select count(*) as n from ${s}.jobs j where j.queue = q.queue and j.status = 2) b
        cross join lateral (
          select coalesce(sum(c.n) filter (where c.status = 3), 0) as completed, coalesce(sum(c.n) filter (where c.status = 4), 0) as buried,
                 coalesce(sum(c.n) filter (where c.status = 5), 0) as cancelled
            from ${s}.counts c where c.queue = q.queue) e
       order by q.queue`,
    },
  }) satisfies Record<string, Statement>;

export type InspectQueries = ReturnType<typeof inspectQueries>;
