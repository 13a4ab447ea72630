import { nowMs, probe, type Schema, type Statement } from '../statement.js';

/*
 * Guards are id and token. None may say `status = 1`: it implies the predicate of jobs_lease, and a planner with fresh
 * statistics then prefers that index over the primary key. The token is null unless the job runs.
 */
export const settleQueries = (s: Schema) =>
  ({
    /**
     * Ends plain leases by going back to pending. Returns which, their queues, and whether that makes room under a limit
     * or a budget. Needs jobs_id.
     * $1 ids, $2 tokens, $3 due in ms (null = keep), $4 charged, $5 errors (null = keep), $6 reasons, $7 offset
     */
    putBack: {
      name: 'millrace_put_back',
      text: `
      update ${s}.jobs j set status = 0, token = null, lease_until = null, started = false,
             due = coalesce(t.now + n.in_ms, j.due), attempts = j.attempts + n.charge, errors = coalesce(n.errors, j.errors), reason = n.reason
        from (select ${nowMs('$7')} as now offset 0) t,
             unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::int[], $5::text[], $6::text[]) n(id, token, in_ms, charge, errors, reason)
       where ${probe('j.id', 'n.id')} and j.token = n.token and j.care & 2 = 0
      returning j.id, j.queue, n.token, j.gate is not null or coalesce(j.metered, false)`,
    },

    /** Locks what is still live of these, in ascending id, and reads what a decision needs. Needs jobs_id. $1 ids */
    lockJobs: {
      name: 'millrace_lock_jobs',
      text: `select j.id, j.status, j.token, j.care, j.stop_request, j.lease_until, j.on_failure,
             j.gate is not null or coalesce(j.metered, false) from ${s}.jobs j
      where j.id = any($1::uuid[]) order by j.id for update`,
    },

    /** Status and last token of those that ended. Needs history_id. $1 ids */
    endedBy: {
      name: 'millrace_ended_by',
      text: `select h.id, h.token from ${s}.history h where h.id = any($1::uuid[])`,
    },
  }) satisfies Record<string, Statement>;

export const endingQueries = (s: Schema) =>
  ({
    /**
     * Moves locked live jobs to history, frees their keys (a period stays), counts them.
     * $1 ids, $2 statuses, $3 reasons, $4 whether the present token ended it, $5 charged attempts, $6 deaths to add, $7 lapses to add,
     * $8 errors (null = keep), $9 results, $10 outcomes, $11 offset
     */
    end: {
      name: 'millrace_end',
      text: `with d as (
      delete from ${s}.jobs j using unnest($1::uuid[], $2::smallint[], $3::text[], $4::boolean[], $5::int[], $6::int[], $7::int[], $8::text[],
                                           $9::text[], $10::text[])
             n(id, to_status, to_reason, own, charge, death, lapse, new_errors, result, outcome)
       where ${probe('j.id', 'n.id')}
      returning j.*, n.to_status, n.to_reason, n.own, n.charge, n.death, n.lapse, n.new_errors, n.result, n.outcome
    ), h as (
      insert into ${s}.history (id, token, due, created_at, claimed_at, finished_at, line, max_attempts, attempts, deaths, lapses, leases,
                                status, rank, unique_scope, on_failure, queue, name, payload, worker, errors, reason, unique_key, retention,
                                version, result, outcome, terms)
      select d.id, case when d.own then d.token end, d.due, d.created_at, d.claimed_at, t.now, d.line, d.max_attempts,
             d.attempts + d.charge, d.deaths + d.death, d.lapses + d.lapse, d.leases, d.to_status, d.rank, d.unique_scope, d.on_failure,
             d.queue, d.name, d.payload, d.worker, coalesce(d.new_errors, d.errors), d.to_reason, d.unique_key, d.retention,
             d.version, d.result, d.outcome, d.terms
        from d, (select ${nowMs('$11')} as now offset 0) t
    ), c as (
      insert into ${s}.counts (queue, status, n) select d.queue, d.to_status, count(*) from d group by d.queue, d.to_status
    ), k as (
      delete from ${s}.keys using d where d.unique_scope in (1, 2) and ${probe('keys.job', 'd.id')} and keys.kind = 1
    )
    select count(*) from d`,
    },

    /** Removes rows, live or final, with everything that is theirs. $1 ids */
    remove: {
      name: 'millrace_remove',
      text: `with j as (delete from ${s}.jobs where id = any($1::uuid[])), h as (delete from ${s}.history where id = any($1::uuid[])),
      k as (delete from ${s}.keys where job = any($1::uuid[])), l as (delete from ${s}.logs where job = any($1::uuid[])),
      t as (delete from ${s}.tags where job = any($1::uuid[])),
      e as (delete from ${s}.dependencies where child = any($1::uuid[])), p as (delete from ${s}.dependencies where parent = any($1::uuid[]) and child <> all($1::uuid[]))
      select 1`,
    },

    /** These parents ended: their edges are met. Returns who waited for which. Needs dependencies_parent. $1 parents */
    meet: {
      name: 'millrace_meet',
      text: `update ${s}.dependencies set met = true where parent = any($1::uuid[]) and not met returning child, parent`,
    },

    /**
     * Blocked jobs (locked by this transaction in an earlier statement) that wait for nothing more become pending.
     * The lock comes first, in a statement of its own: two parents that end at once each see the other's edge only then.
     * Returns their queues. Needs jobs_id, dependencies_edge. $1 ids
     */
    release: {
      name: 'millrace_release',
      text: `update ${s}.jobs j set status = 0 where j.id = any($1::uuid[]) and j.status = 2
       and (select e.parent from ${s}.dependencies e where e.child = j.id and not e.met limit 1) is null returning j.id, j.queue`,
    },
  }) satisfies Record<string, Statement>;

export type SettleQueries = ReturnType<typeof settleQueries>;
export type EndingQueries = ReturnType<typeof endingQueries>;
