import { nowMs, probe, type Schema, type Statement } from '../statement.js';

export const recoverQueries = (s: Schema) =>
  ({
    /** Expired leases, oldest first. Needs jobs_lease: reads the running jobs, of which there are few. $1 expired for ms, $2 offset, $3 limit, $4 after lease end, $5 after id */
    expired: {
      name: 'millrace_expired',
      text: `select j.id, j.token, j.name, j.queue, j.worker, j.started, j.line, j.attempts, j.max_attempts, j.deaths, j.lapses, j.errors,
             j.stop_request, j.lease_until, t.now - j.lease_until
        from (select ${nowMs('$2')} as now offset 0) t, ${s}.jobs j
       where j.status = 1 and j.lease_until <= t.now - $1::bigint
         and ($4::bigint is null or (j.lease_until, j.id) > ($4::bigint, $5::uuid))
       order by j.lease_until, j.id limit $3::int`,
    },

    /**
     * Takes leases back to pending; the rows are locked and the guard was checked by this transaction.
     * $1 ids, $2 due in ms (null = keep), $3 deaths to add, $4 lapses to add, $5 must run alone, $6 errors (null = keep), $7 offset
     */
    returnToPending: {
      name: 'millrace_return_to_pending',
      text: `update ${s}.jobs j set status = 0, token = null, lease_until = null, started = false, reason = null,
             due = coalesce(${nowMs('$7')} + n.in_ms, j.due), deaths = j.deaths + n.death, lapses = j.lapses + n.lapse,
             line = case when n.alone and j.line >= 0 then -1 - j.line else j.line end, errors = coalesce(n.errors, j.errors)
        from unnest($1::uuid[], $2::bigint[], $3::int[], $4::int[], $5::boolean[], $6::text[]) n(id, in_ms, death, lapse, alone, errors)
       where ${probe('j.id', 'n.id')} returning j.queue`,
    },

    /** Blocked jobs of which no parent lives any more though an edge is open, or that have no open edge. Needs jobs_blocked. $1 limit */
    stranded: {
      name: 'millrace_stranded',
      text: `select j.id from ${s}.jobs j where j.status = 2
        and (select e.parent from ${s}.dependencies e
                         where e.child = j.id and not e.met and (select p.id from ${s}.jobs p where p.id = e.parent) is not null limit 1) is null
      order by j.queue, j.id limit $1::int`,
    },

    /** Open edges of these with the status of the parent: null = gone, 0 … 2 = lives. $1 children */
    openParents: {
      name: 'millrace_open_parents',
      text: `select e.child, e.parent, coalesce((select p.status from ${s}.jobs p where p.id = e.parent),
                                              (select h.status from ${s}.history h where h.id = e.parent))
        from ${s}.dependencies e where e.child = any($1::uuid[]) and not e.met`,
    },

    /** $1 children */
    meetAll: {
      name: 'millrace_meet_all',
      text: `update ${s}.dependencies set met = true where child = any($1::uuid[]) and not met`,
    },
  }) satisfies Record<string, Statement>;

export type RecoverQueries = ReturnType<typeof recoverQueries>;
