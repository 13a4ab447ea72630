import { nowMs, probe, type Schema, type Statement } from '../statement.js';

/** No live job waits, or waited, for history row `h`. A scalar subselect, since a join could be planned over all edges. */
const isUnneeded = (s: Schema): string =>
  `(select e.child from ${s}.dependencies e where e.parent = h.id and (select j.id from ${s}.jobs j where j.id = e.child) is not null limit 1) is null`;

export const controlQueries = (s: Schema) =>
  ({
    /** Pending → due now. Returns its queue. $1 id, $2 offset */
    hasten: {
      name: 'millrace_hasten',
      text: `update ${s}.jobs set due = ${nowMs('$2')}, reason = null where id = $1::uuid and status = 0 returning queue`,
    },

    /** Locked pending jobs → due now. $1 ids, $2 offset */
    hastenMany: {
      name: 'millrace_hasten_many',
      text: `update ${s}.jobs set due = ${nowMs('$2')}, reason = null where id = any($1::uuid[]) and token is null returning queue`,
    },

    /** Locks those that have ended, in ascending id. $1 ids */
    lockFinal: {
      name: 'millrace_lock_final',
      text: `select h.id, h.status from ${s}.history h where h.id = any($1::uuid[]) order by h.id for update`,
    },

    /** The combinations that locked jobs move to; committed with the move, so no claim sees one without the other. $1 ids, $2 queue, $3 rank */
    addKindsOf: {
      name: 'millrace_add_kinds_of',
      text: `insert into ${s}.kinds (queue, rank, name)
      select distinct coalesce($2, j.queue), coalesce($3::smallint, j.rank), j.name from ${s}.jobs j where j.id = any($1::uuid[])
       order by 1, 2, 3 on conflict do nothing`,
    },

    /**
     * Edits locked jobs that wait. What is null stays; a new due time forgets the reason. Returns their queues.
     * $1 ids, $2 payload, $3 version, $4 rank, $5 queue, $6 due in ms, $7 due at, $8 offset
     */
    edit: {
      name: 'millrace_edit',
      text: `update ${s}.jobs j set payload = coalesce($2, j.payload), version = coalesce($3::int, j.version),
             rank = coalesce($4::smallint, j.rank), queue = coalesce($5, j.queue),
             due = coalesce($7::bigint, t.now + $6::bigint, j.due),
             reason = case when $6::bigint is null and $7::bigint is null then j.reason end
        from (select ${nowMs('$8')} as now offset 0) t
       where j.id = any($1::uuid[]) and j.token is null returning j.queue`,
    },

    /** Wishes about running jobs; the last one stands. $1 ids, $2 request */
    requestStops: {
      name: 'millrace_request_stops',
      text: `update ${s}.jobs set stop_request = $2::smallint, care = care | 2 where id = any($1::uuid[]) and token is not null`,
    },

    /** Locks ended jobs that a retry may take, in ascending id. $1 ids */
    lockEnded: {
      name: 'millrace_lock_ended',
      text: `select h.id, h.unique_scope, h.unique_key, h.terms from ${s}.history h where h.id = any($1::uuid[]) and h.status in (4, 5)
      order by h.id for update`,
    },

    /** What bounded a job that has ended. $1 id */
    endedTerms: {
      name: 'millrace_ended_terms',
      text: `select h.terms from ${s}.history h where h.id = $1::uuid`,
    },

    /** Takes the keys of jobs to be retried, where they are free. $1 keys (distinct, ascending), $2 jobs, $3 offset */
    retakeKeys: {
      name: 'millrace_retake_keys',
      text: `insert into ${s}.keys as k (kind, key, job) select 1, n.key, n.job from unnest($1::text[], $2::uuid[]) n(key, job) order by n.key collate "C"
      on conflict (kind, key) do update set job = excluded.job, until = null, input_hash = null
         where k.until is not null and k.until <= ${nowMs('$3')}
      returning job`,
    },

    /**
     * Locked buried or cancelled jobs → pending with a fresh set of attempts, in the lines that their terms have now.
     * Returns their queues. $1 ids, $2 offset, $3 terms (distinct), $4 lines, $5 gates, $6 groups
     */
    revive: {
      name: 'millrace_revive',
      text: `with h as (delete from ${s}.history where id = any($1::uuid[]) and status in (4, 5) returning *)
      insert into ${s}.jobs (id, due, created_at, claimed_at, line, max_attempts, leases, status, rank, care, unique_scope, on_failure, queue,
                             name, payload, worker, errors, unique_key, retention, version, gate, group_id, most, cost, terms)
      select h.id, ${nowMs('$2')}, h.created_at, h.claimed_at, coalesce(n.line, 0), h.max_attempts, h.leases, 0, h.rank,
             case when h.unique_scope = 2 then 4 else 0 end, h.unique_scope, h.on_failure, h.queue, h.name, h.payload, h.worker, h.errors,
             h.unique_key, h.retention, h.version, n.gate, n.grp, (h.terms::json ->> 2)::int, (h.terms::json ->> 3)::int, h.terms
        from h left join lateral (
          select * from unnest($3::text[], $4::int[], $5::int[], $6::int[]) n(terms, line, gate, grp) where n.terms = h.terms limit 1) n on true
      returning queue`,
    },

    /** A page of buried ids, ascending. Needs history_list. $1 queues, $2 after id, $3 limit */
    buriedIds: {
      name: 'millrace_buried_ids',
      text: `select x.id from unnest($1::text[]) q(queue) cross join lateral (
        select h.id from ${s}.history h where h.queue = q.queue and h.status = 4 and ($2::uuid is null or h.id > $2::uuid)
         order by h.id limit $3::int) x
      order by x.id limit $3::int`,
    },

    /** A running job: the wish is recorded; the last one stands. $1 id, $2 request */
    requestStop: {
      name: 'millrace_request_stop',
      text: `update ${s}.jobs set stop_request = $2::smallint, care = care | 2 where id = $1::uuid and status = 1 returning 1`,
    },

    /** Status of one job, wherever it is. $1 id */
    statusOf: {
      name: 'millrace_status_of',
      text: `select coalesce((select j.status from ${s}.jobs j where j.id = $1::uuid), (select h.status from ${s}.history h where h.id = $1::uuid))`,
    },

    /** Queues that ended something. */
    queues: {
      name: 'millrace_ended_queues',
      text: `select queue from ${s}.kinds union select queue from ${s}.counts`,
    },

    pause: {
      name: 'millrace_pause',
      text: `insert into ${s}.paused (queue) values ($1) on conflict do nothing`,
    },
    resume: { name: 'millrace_resume', text: `delete from ${s}.paused where queue = $1 returning 1` },
    paused: { name: 'millrace_paused', text: `select queue from ${s}.paused order by queue` },

    /**
     * Locks final rows of one status that are past their time and that no live job waits (or waited) for.
     * Needs history_ended and history_retention, dependencies_parent, jobs_id. $1 status, $2 older than ms, $3 offset, $4 limit
     */
    purgeable: {
      name: 'millrace_purgeable',
      text: `select a.id from (
          select h.id from ${s}.history h
           where h.status = $1::smallint and h.finished_at <= ${nowMs('$3')} - $2::bigint and (h.retention is null or h.status = 4)
             and ${isUnneeded(s)}
           order by h.finished_at limit $4::int for update skip locked) a
        union all
        select b.id from (
          select h.id from ${s}.history h
           where h.status = $1::smallint and h.status <> 4 and h.retention is not null and h.finished_at + h.retention <= ${nowMs('$3')}
             and ${isUnneeded(s)}
           order by h.finished_at + h.retention limit $4::int for update skip locked) b
        limit $4::int`,
    },

    /**
     * Deletes final rows with what is theirs, but for periods that still run. They were locked by an earlier statement: a
     * dependent that came until then is seen here, and one that comes later waits, and finds its parent gone.
     * Returns how many. $1 ids, $2 status, $3 offset
     */
    purge: {
      name: 'millrace_purge',
      text: `with h as (
        delete from ${s}.history h where h.id = any($1::uuid[]) and h.status = $2::smallint
           and ${isUnneeded(s)}
        returning h.id),
      k as (delete from ${s}.keys using h where ${probe('keys.job', 'h.id')} and (keys.until is null or keys.until <= ${nowMs('$3')})),
      l as (delete from ${s}.logs using h where ${probe('logs.job', 'h.id')}),
      t as (delete from ${s}.tags using h where ${probe('tags.job', 'h.id')}),
      e as (delete from ${s}.dependencies using h where ${probe('dependencies.child', 'h.id')}),
      p as (delete from ${s}.dependencies using h where ${probe('dependencies.parent', 'h.id')} and (select i.id from h i where i.id = dependencies.child) is null)
      select count(*) from h`,
    },

    /** Needs logs_at. $1 older than ms, $2 offset, $3 limit */
    purgeLines: {
      name: 'millrace_purge_lines',
      text: `with d as (delete from ${s}.logs where ctid = any(array(select ctid from ${s}.logs where at <= ${nowMs('$2')} - $1::bigint order by at limit $3::int)) returning 1)
      select count(*) from d`,
    },
    /** Needs keys_until. $1 offset, $2 limit */
    purgePeriods: {
      name: 'millrace_purge_periods',
      text: `with d as (delete from ${s}.keys where ctid = any(array(select ctid from ${s}.keys where until <= ${nowMs('$1')} order by until limit $2::int)) and until <= ${nowMs('$1')} returning 1)
      select count(*) from d`,
    },
    /** $1 offset, $2 limit, $3 silent for ms */
    purgeWorkers: {
      name: 'millrace_purge_workers',
      text: `with d as (delete from ${s}.workers where id in (select id from ${s}.workers where heartbeat_at <= ${nowMs('$1')} - $3::bigint and admin_state = 'active' limit $2::int)
        and heartbeat_at <= ${nowMs('$1')} - $3::bigint and admin_state = 'active' returning 1),
      h as (update ${s}.workers set forgotten = true where id in (select id from ${s}.workers where heartbeat_at <= ${nowMs('$1')} - $3::bigint and admin_state <> 'active' and not forgotten limit $2::int)
        and heartbeat_at <= ${nowMs('$1')} - $3::bigint and admin_state <> 'active' returning 1)
      select (select count(*) from d) + (select count(*) from h)`,
    },
    /** Needs audit_at. $1 offset, $2 limit, $3 kept for ms */
    purgeAudit: {
      name: 'millrace_purge_audit',
      text: `with d as (delete from ${s}.audit where ctid = any(array(select ctid from ${s}.audit where at <= ${nowMs('$1')} - $3::bigint order by at limit $2::int)) returning 1)
      select count(*) from d`,
    },
  }) satisfies Record<string, Statement>;

export type ControlQueries = ReturnType<typeof controlQueries>;
