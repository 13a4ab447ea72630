import { nowMs, probe, type Schema, type Statement } from '../statement.js';

const mostAhead = 10_000;

const tagsOf = (s: Schema, id: string): string =>
  `(select string_agg(g.tag, ' ') from ${s}.tags g where ${probe('g.job', id)})`;
const live = (s: Schema): string =>
  `j.id, j.name, j.queue, j.status, j.rank, j.attempts, j.max_attempts, j.deaths, j.created_at, j.due, j.claimed_at, null::bigint, j.worker, ${tagsOf(s, 'j.id')}`;
const ended = (s: Schema): string =>
  `h.id, h.name, h.queue, h.status, h.rank, h.attempts, h.max_attempts, h.deaths, h.created_at, h.due, h.claimed_at, h.finished_at, h.worker, ${tagsOf(s, 'h.id')}`;

export const inspectQueries = (s: Schema) =>
  ({
    /** Needs jobs_id, history_id. $1 id */
    job: {
      name: 'millrace_job',
      text: `select ${live(s)}, j.version, j.payload, null, j.errors, null, j.reason, j.stop_request, j.lease_until, j.started, j.lapses, j.line, j.unique_key,
             j.retention, j.terms, (select string_agg(e.parent::text, ',' order by e.parent) from ${s}.dependencies e
                            where j.status = 2 and e.child = j.id and not e.met)
        from ${s}.jobs j where j.id = $1::uuid
      union all
      select ${ended(s)}, h.version, h.payload, h.result, h.errors, h.outcome, h.reason, 0, null, false, h.lapses, h.line, h.unique_key, h.retention, h.terms,
             (select string_agg(e.parent::text, ',' order by e.parent) from ${s}.dependencies e
               where h.reason = 'parent-failed' and e.child = h.id)
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

    /** Running jobs, newest first: few, so they are sorted. Needs jobs_lease. $1 queue or null, $2 name or null, $3 before id or null, $4 limit, $5 with errors */
    processing: {
      name: 'millrace_list_processing',
      text: `select p.* from (select ${live(s)}, case when $5::boolean then j.errors end from ${s}.jobs j where j.status = 1 and ($1::text is null or j.queue = $1)
          and ($2::text is null or j.name = $2) and ($3::uuid is null or j.id < $3::uuid) offset 0) p(id)
      order by p.id desc limit $4::int`,
    },

    /**
     * Pending jobs in the order of jobs_claim, from a place in it on. At most $6 rows are read, so that a name that is rare
     * can't make one page read a million: the last one read is the next place.
     * $1 queue, $2 … $5 after line, rank, due, id, $6 rows to read, $7 with errors
     */
    pending: {
      name: 'millrace_list_pending',
      text: `select ${live(s)}, case when $7::boolean then j.errors end, j.line from ${s}.jobs j where j.queue = $1 and j.status = 0 and ($2::int is null or (j.line, j.rank, j.due, j.id) > ($2::int, $3::smallint, $4::bigint, $5::uuid))
      order by j.line, j.rank, j.due, j.id limit $6::int`,
    },

    /** Blocked jobs of some queues, newest first. Needs jobs_blocked. $1 queues, $2 before id or null, $3 rows to read, $4 with errors */
    blocked: {
      name: 'millrace_list_blocked',
      text: `select x.* from unnest($1::text[]) q(queue) cross join lateral (
        select ${live(s)}, case when $4::boolean then j.errors end from ${s}.jobs j where j.queue = q.queue and j.status = 2 and ($2::uuid is null or j.id < $2::uuid)
         order by j.id desc limit $3::int) x(id) order by x.id desc limit $3::int`,
    },

    /** Final jobs of one status of some queues, newest first. Needs history_list. $1 queues, $2 status, $3 before id or null, $4 rows to read, $5 with errors */
    ended: {
      name: 'millrace_list_ended',
      text: `select x.* from unnest($1::text[]) q(queue) cross join lateral (
        select ${ended(s)}, case when $5::boolean then h.errors end from ${s}.history h where h.queue = q.queue and h.status = $2::smallint and ($3::uuid is null or h.id < $3::uuid)
         order by h.id desc limit $4::int) x(id) order by x.id desc limit $4::int`,
    },

    /** Jobs with a tag, newest first, wherever they are. Needs tags_tag, jobs_id, history_id. $1 tag, $2 before id or null, $3 rows to read, $4 with errors */
    tagged: {
      name: 'millrace_list_tagged',
      text: `select x.* from (
        select g.job from ${s}.tags g where g.tag = $1 and length(g.tag) > 0 and ($2::uuid is null or g.job < $2::uuid) order by g.job desc limit $3::int) t
      cross join lateral (
        select ${live(s)}, case when $4::boolean then j.errors end from ${s}.jobs j where ${probe('j.id', 't.job')}
        union all select ${ended(s)}, case when $4::boolean then h.errors end from ${s}.history h where ${probe('h.id', 't.job')}) x(id)
      order by x.id desc`,
    },

    /**
     * How many due jobs stand before a pending one, range by range; no row unless it is pending. Within its own rank the
     * bound by due time alone is what ends the range. Needs jobs_id, jobs_claim. $1 id, $2 offset
     */
    ahead: {
      name: 'millrace_ahead',
      text: `with p as materialized (
        select j.queue, j.line, j.rank, j.due, j.id, j.status, t.now
          from (select ${nowMs('$2')} as now offset 0) t, ${s}.jobs j where j.id = $1::uuid)
      select (select count(*) from (
        select 1 from (select k.rank from ${s}.kinds k where k.queue = p.queue and k.rank <= p.rank group by k.rank) r
         cross join lateral (
           select 1 from ${s}.jobs j where j.queue = p.queue and j.line = p.line and j.rank = r.rank and j.status = 0
              and j.due <= case when r.rank = p.rank then least(p.now, p.due) else p.now end
              and (r.rank < p.rank or (j.due, j.id) < (p.due, p.id)) limit ${mostAhead}) x
         limit ${mostAhead}) c)
        from p where p.status = 0`,
    },

    /** Every queue that was ever dispatched to, ended something or is paused. */
    queues: {
      name: 'millrace_queues',
      text: `select queue from ${s}.kinds union select queue from ${s}.paused union select queue from ${s}.counts order by 1`,
    },

    /** Every queue that was ever dispatched to. */
    knownQueues: { name: 'millrace_known_queues', text: `select distinct queue from ${s}.kinds` },

    /** Needs jobs_claim (read as a whole for the queues asked for), jobs_blocked, jobs_lease. $1 queues, $2 offset */
    stats: {
      name: 'millrace_stats',
      text: `select q.queue, (select p.queue from ${s}.paused p where p.queue = q.queue) is not null,
             w.pending, w.claimable, b.n, (select count(*) from ${s}.jobs r where r.status = 1 and r.queue = q.queue),
             e.completed, e.buried, e.cancelled, t.now - w.oldest
        from (select ${nowMs('$2')} as now offset 0) t, unnest($1::text[]) q(queue)
        cross join lateral (
          select count(*) as pending, count(*) filter (where j.line >= 0 and j.due <= t.now) as claimable,
                 min(j.due) filter (where j.line >= 0 and j.due <= t.now) as oldest
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
