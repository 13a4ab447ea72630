import { epochUnitMs } from '../../worker-record.js';
import { nowMs, type Schema, type Statement } from '../statement.js';

/** Workers of a schema without epochs, which this code still runs on, are all at epoch 0. */
export const workerQueries = (s: Schema, hasEpochs = true) =>
  ({
    /**
     * Takes the registration unless another incarnation, not known to be over, was heard lately, and counts its epoch up.
     * No row = taken.
     * $1 id, $2 incarnation, $3 report, $4 alive ms, $5 offset, $6 an incarnation that is over
     */
    register: {
      name: 'millrace_register',
      text: `insert into ${s}.workers as w (id, incarnation, admin_state, started_at, heartbeat_at, gone, recycle_asked, forgotten, report${hasEpochs ? ', connection_epoch' : ''})
      select $1, $2, 'active', t.now, t.now, false, false, false, $3${hasEpochs ? `, t.now / ${epochUnitMs} + 1` : ''} from (select ${nowMs('$5')} as now offset 0) t
      on conflict (id) do update set incarnation = excluded.incarnation, heartbeat_at = excluded.heartbeat_at, gone = false, forgotten = false,
         recycle_asked = w.recycle_asked and w.incarnation = excluded.incarnation, report = excluded.report,
         ${hasEpochs ? 'connection_epoch = w.connection_epoch + 1, disconnected_at = null,' : ''}
         started_at = case when w.incarnation = excluded.incarnation then w.started_at else excluded.started_at end
       where w.incarnation = excluded.incarnation or w.gone or w.forgotten or w.incarnation = $6 or excluded.heartbeat_at - w.heartbeat_at >= $4::bigint
      returning w.admin_state, ${hasEpochs ? 'w.connection_epoch' : '0'}`,
    },
    /** What is known of an id, and whether that is this incarnation. $1 id, $2 incarnation */
    known: {
      name: 'millrace_known_worker',
      text: `select admin_state, ${hasEpochs ? 'connection_epoch' : '0'}, incarnation = $2 and not gone and not forgotten from ${s}.workers where id = $1`,
    },
    /** $1 id */
    exists: { name: 'millrace_worker_exists', text: `select 1 from ${s}.workers where id = $1` },
    /** $1 id, $2 incarnation, $3 report, $4 offset, $5 epoch or null */
    heartbeat: {
      name: 'millrace_heartbeat',
      text: `update ${s}.workers set heartbeat_at = ${nowMs('$4')}, report = $3${hasEpochs ? ', disconnected_at = null' : ''}
      where id = $1 and incarnation = $2 and not gone and not forgotten and ($5::bigint is null or ${hasEpochs ? 'connection_epoch' : '0'} = $5::bigint)
      returning admin_state`,
    },
    /** The first time counts. $1 id, $2 incarnation, $3 epoch, $4 offset */
    noteDisconnected: {
      name: 'millrace_note_disconnected',
      text: `update ${s}.workers set disconnected_at = coalesce(disconnected_at, ${nowMs('$4')})
      where id = $1 and incarnation = $2 and connection_epoch = $3::bigint and not gone and not forgotten returning 1`,
    },
    /** Each worker of which operators want something, and each paused queue, as a row. */
    fleetOrders: {
      name: 'millrace_fleet_orders',
      text: `select null, id, admin_state, recycle_asked and not forgotten from ${s}.workers
       where admin_state <> 'active' or (recycle_asked and not forgotten)
      union all select queue, null, null, null from ${s}.paused order by 1, 2`,
    },
    /** What operators want of it, and each paused queue as a row. $1 id */
    orders: {
      name: 'millrace_orders',
      text: `select null, admin_state, recycle_asked from ${s}.workers where id = $1
      union all select queue, null, null from ${s}.paused order by 1`,
    },
    /** $1 id, $2 incarnation, $3 offset */
    unregister: {
      name: 'millrace_unregister',
      text: `update ${s}.workers set gone = true, heartbeat_at = ${nowMs('$3')} where id = $1 and incarnation = $2`,
    },
    /** $1 offset */
    list: {
      name: 'millrace_workers',
      text: `select w.report, w.admin_state, w.started_at, w.heartbeat_at, t.now - w.heartbeat_at, w.gone, w.recycle_asked,
        ${hasEpochs ? 'w.connection_epoch, t.now - w.disconnected_at' : '0, null'}
      from ${s}.workers w, (select ${nowMs('$1')} as now offset 0) t where not w.forgotten order by w.id`,
    },
    /** $1 id, $2 admin state */
    setAdminState: {
      name: 'millrace_set_admin_state',
      text: `update ${s}.workers set admin_state = $2 where id = $1 returning 1`,
    },
    /** $1 id */
    askRecycle: {
      name: 'millrace_ask_recycle',
      text: `update ${s}.workers set recycle_asked = true where id = $1 and not forgotten returning 1`,
    },
    /** $1 id, $2 silent for ms, $3 offset */
    forget: {
      name: 'millrace_forget_worker',
      text: `delete from ${s}.workers where id = $1 and (gone or forgotten or heartbeat_at <= ${nowMs('$3')} - $2::bigint) returning 1`,
    },
    /** Removes it, or only hides it where an operator wants something of its id. $1 id, $2 heartbeat at */
    forgetSilent: {
      name: 'millrace_forget_silent',
      text: `with d as (delete from ${s}.workers where id = $1 and heartbeat_at = $2::bigint and not forgotten and admin_state = 'active' returning 1),
      h as (update ${s}.workers set forgotten = true
             where id = $1 and heartbeat_at = $2::bigint and not forgotten and admin_state <> 'active' returning 1)
      select 1 from d union all select 1 from h`,
    },
    /** $1 id, $2 actor, $3 action, $4 target, $5 source, $6 result, $7 offset */
    writeAudit: {
      name: 'millrace_write_audit',
      text: `insert into ${s}.audit (at, id, actor, action, target, source, result)
      select ${nowMs('$7')}, $1::uuid, $2, $3, $4, $5, $6 on conflict (id) do nothing`,
    },
    /** Needs audit_at. $1 before ms, $2 before id, $3 limit */
    auditPage: {
      name: 'millrace_audit',
      text: `select id, actor, action, target, source, at, result from ${s}.audit
      where (at, id) < ($1::bigint, $2::uuid) order by at desc, id desc limit $3::int`,
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

    /**
     * Registers kinds that have a job but no row, which a restored backup might lack. Needs jobs_claim_named: one probe per
     * kind and line, of which it goes through the first ten thousand.
     */
    missingKinds: {
      name: 'millrace_missing_kinds',
      text: `with recursive seen as (
        (select j.queue, j.line, j.name, j.rank from ${s}.jobs j where j.status + 0 = 0 order by j.queue, j.line, j.name, j.rank limit 1)
        union all
        select x.* from seen cross join lateral (
          select j.queue, j.line, j.name, j.rank from ${s}.jobs j
           where j.status + 0 = 0 and (j.queue, j.line, j.name, j.rank) > (seen.queue, seen.line, seen.name, seen.rank)
           order by j.queue, j.line, j.name, j.rank limit 1) x)
      insert into ${s}.kinds (queue, rank, name) select distinct queue, rank, name from (select * from seen limit 10000) f on conflict do nothing returning queue, name`,
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
