import { nowMs, type Schema, type Statement } from '../statement.js';

export const workerQueries = (s: Schema) =>
  ({
    /**
     * Takes the registration unless another incarnation was heard lately. No row = taken.
     * $1 id, $2 incarnation, $3 report, $4 alive ms, $5 offset
     */
    register: {
      name: 'millrace_register',
      text: `insert into ${s}.workers as w (id, incarnation, admin_state, started_at, heartbeat_at, gone, report)
      select $1, $2, 'active', t.now, t.now, false, $3 from (select ${nowMs('$5')} as now offset 0) t
      on conflict (id) do update set incarnation = excluded.incarnation, heartbeat_at = excluded.heartbeat_at, gone = false, report = excluded.report,
         started_at = case when w.incarnation = excluded.incarnation then w.started_at else excluded.started_at end
       where w.incarnation = excluded.incarnation or w.gone or excluded.heartbeat_at - w.heartbeat_at >= $4::bigint
      returning w.admin_state`,
    },
    adminState: { name: 'millrace_admin_state', text: `select admin_state from ${s}.workers where id = $1` },
    /** $1 id, $2 incarnation, $3 report, $4 offset */
    heartbeat: {
      name: 'millrace_heartbeat',
      text: `update ${s}.workers set heartbeat_at = ${nowMs('$4')}, report = $3 where id = $1 and incarnation = $2 and not gone returning admin_state`,
    },
    /** $1 id, $2 incarnation, $3 offset */
    unregister: {
      name: 'millrace_unregister',
      text: `update ${s}.workers set gone = true, heartbeat_at = ${nowMs('$3')} where id = $1 and incarnation = $2`,
    },
    /** $1 offset */
    list: {
      name: 'millrace_workers',
      text: `select w.report, w.admin_state, w.started_at, w.heartbeat_at, t.now - w.heartbeat_at, w.gone
      from ${s}.workers w, (select ${nowMs('$1')} as now offset 0) t order by w.id`,
    },
  }) satisfies Record<string, Statement>;

export const dutyQueries = (s: Schema) =>
  ({
    /** No row = another holds it. $1 name, $2 holder, $3 ttl ms, $4 offset */
    take: {
      name: 'millrace_take_duty',
      text: `insert into ${s}.duties as d (name, holder, until) select $1, $2, t.now + $3::bigint from (select ${nowMs('$4')} as now offset 0) t
      on conflict (name) do update set holder = excluded.holder, until = excluded.until
       where d.holder = excluded.holder or d.until <= excluded.until - $3::bigint returning 1`,
    },
    release: {
      name: 'millrace_release_duty',
      text: `delete from ${s}.duties where name = $1 and holder = $2`,
    },

    /** Folds the counts into one row per queue and status; returns the sum of all. */
    foldCounts: {
      name: 'millrace_fold_counts',
      text: `with d as (delete from ${s}.counts returning queue, status, n),
      f as (select d.queue, d.status, sum(d.n) as n from d group by d.queue, d.status),
      i as (insert into ${s}.counts (queue, status, n) select f.queue, f.status, f.n from f)
      select coalesce(sum(f.n), 0) from f`,
    },

    /** Registers kinds that have a job but no row, which a restored backup might lack. Needs jobs_claim_named: one probe per kind. */
    missingKinds: {
      name: 'millrace_missing_kinds',
      text: `with recursive seen as (
        (select j.queue, j.line, j.name, j.rank from ${s}.jobs j where j.status + 0 = 0 order by j.queue, j.line, j.name, j.rank limit 1)
        union all
        select x.* from seen cross join lateral (
          select j.queue, j.line, j.name, j.rank from ${s}.jobs j
           where j.status + 0 = 0 and (j.queue, j.line, j.name, j.rank) > (seen.queue, seen.line, seen.name, seen.rank)
           order by j.queue, j.line, j.name, j.rank limit 1) x)
      insert into ${s}.kinds (queue, rank, name) select distinct queue, rank, name from seen on conflict do nothing returning queue, name`,
    },
  }) satisfies Record<string, Statement>;

/** The server: version number, version text, in recovery, uptime in ms. */
export const serverFacts: Statement = {
  name: 'millrace_server',
  text: `select current_setting('server_version_num'), current_setting('server_version'), pg_is_in_recovery(),
    floor(extract(epoch from clock_timestamp() - pg_postmaster_start_time()) * 1000)::bigint`,
};

/** $1 offset */
export const clockQuery: Statement = { name: 'millrace_now', text: `select ${nowMs('$1')}` };

export type WorkerQueries = ReturnType<typeof workerQueries>;
export type DutyQueries = ReturnType<typeof dutyQueries>;
