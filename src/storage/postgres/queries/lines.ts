import { nowMs, type Schema, type Statement } from '../statement.js';

export const lineQueries = (s: Schema) =>
  ({
    /**
     * Writes lines with the gates they need, in one order for all, so that two writers don't wait in a circle; those that
     * are there already are refreshed. Needs gates_gate, lines_hash. $1 hashes, $2 terms, $3 groups or null, $4 keys or null, $5 offset
     */
    register: {
      name: 'millrace_register_lines',
      text: `with w as materialized (
        select n.hash, n.terms, n.grp, case when n.key is null then 2 else 1 end as kind, coalesce(n.key, '') as key, ${nowMs('$5')} as now
          from unnest($1::text[], $2::text[], $3::text[], $4::text[]) n(hash, terms, grp, key)
      ), g as (
        insert into ${s}.gates as g (kind, name, key, named_at)
        select x.kind, x.name, x.key, x.now from (
          select w.kind, w.grp as name, w.key, max(w.now) as now from w where w.grp is not null group by w.kind, w.grp, w.key
          union all select 3, w.grp, '', max(w.now) from w where w.grp is not null group by w.grp) x
         order by x.kind, x.name collate "C", x.key collate "C"
        on conflict (kind, name, key) do update set named_at = excluded.named_at
        returning g.id, g.kind, g.name, g.key
      )
      insert into ${s}.lines as l (hash, terms, gate, group_id, named_at)
      select w.hash, w.terms, (select g.id from g where g.kind = w.kind and g.name = w.grp and g.key = w.key),
             (select g.id from g where g.kind = 3 and g.name = w.grp), w.now
        from w order by w.hash collate "C"
      on conflict (hash) do update set named_at = excluded.named_at
      returning l.id, l.terms, l.gate, l.group_id`,
    },

    /**
     * Lines by their terms, kept from being removed until this transaction ends. It hinders nobody else.
     * Needs lines_hash. $1 hashes
     */
    keep: {
      name: 'millrace_keep_lines',
      text: `select l.id, l.terms, l.gate, l.group_id from ${s}.lines l where l.hash = any($1::text[]) for key share`,
    },

    /** Needs lines_id. $1 ids */
    byId: {
      name: 'millrace_lines',
      text: `select l.id, l.terms, l.gate, l.group_id from ${s}.lines l where l.id = any($1::int[])`,
    },

    /** The gate of a queue's budget, written when it is new. $1 queue, $2 offset */
    queueGate: {
      name: 'millrace_queue_gate',
      text: `insert into ${s}.gates as g (kind, name, key, named_at) values (4, $1, '', ${nowMs('$2')})
      on conflict (kind, name, key) do update set named_at = excluded.named_at returning g.id`,
    },

    /**
     * Lines that have waiting jobs but no row, with the terms of one of them: a transaction that was open for a day, or a
     * backup that was restored, may leave such. Needs jobs_claim: one probe per line, of which it goes through the first
     * ten thousand; lines_id.
     */
    orphaned: {
      name: 'millrace_orphaned_lines',
      text: `with recursive q as materialized (
        select distinct k.queue from ${s}.kinds k
      ), l as (
        select q.queue, x.line from q cross join lateral (
          select i.line from ${s}.jobs i where i.queue = q.queue and i.line > 0 and i.status = 0 order by i.line limit 1) x
        union all
        select l.queue, x.line from l cross join lateral (
          select i.line from ${s}.jobs i where i.queue = l.queue and i.line > l.line and i.status = 0 order by i.line limit 1) x
      )
      select l.line, (select i.terms from ${s}.jobs i where i.queue = l.queue and i.line = l.line and i.status = 0 order by i.rank, i.due, i.id limit 1)
        from (select * from l limit 10000) l where (select d.id from ${s}.lines d where d.id = l.line) is null`,
    },

    /** Moves all jobs of a line that has no row to the one that their terms have. Needs jobs_line. $1 old line, $2 new line, $3 gate, $4 group */
    move: {
      name: 'millrace_move_line',
      text: `update ${s}.jobs j set line = case when j.line < 0 then -1 - $2::int else $2::int end, gate = $3::int, group_id = $4::int
       where j.line in ($1::int, -1 - $1::int) and j.line not in (0, -1) returning j.queue`,
    },

    /** Locks lines that nobody asked for lately. Needs lines_named. $1 unnamed for ms, $2 offset, $3 limit */
    unnamed: {
      name: 'millrace_unnamed_lines',
      text: `select l.id from ${s}.lines l where l.named_at <= ${nowMs('$2')} - $1::bigint order by l.named_at limit $3::int for update skip locked`,
    },

    /** Of locked lines, removes those that no live job has; looks in a statement after the lock. Needs jobs_line, lines_id. $1 ids */
    removeUnused: {
      name: 'millrace_remove_lines',
      text: `with d as (delete from ${s}.lines l where l.id = any($1::int[])
         and (select j.id from ${s}.jobs j where j.line in (l.id, -1 - l.id) and j.line not in (0, -1) limit 1) is null returning 1)
      select count(*) from d`,
    },

    /** Lines that are still in use: asked about again in a day. Needs lines_id. $1 ids, $2 offset */
    touch: {
      name: 'millrace_touch_lines',
      text: `update ${s}.lines l set named_at = ${nowMs('$2')} where l.id = any($1::int[])`,
    },

    /** Needs gates_named. $1 unnamed for ms, $2 offset, $3 limit */
    unnamedGates: {
      name: 'millrace_unnamed_gates',
      text: `select g.id from ${s}.gates g where g.kind < 4 and g.named_at <= ${nowMs('$2')} - $1::bigint order by g.named_at limit $3::int
      for update skip locked`,
    },

    /** Of locked gates, removes those that no line has. Needs lines_gate, lines_group, gates_id. $1 ids */
    removeUnusedGates: {
      name: 'millrace_remove_gates',
      text: `with d as (delete from ${s}.gates g where g.id = any($1::int[])
         and g.id <> all(array(select distinct l.gate from ${s}.lines l where l.gate = any($1::int[])))
         and g.id <> all(array(select distinct l.group_id from ${s}.lines l where l.group_id = any($1::int[]))) returning 1)
      select count(*) from d`,
    },

    /** Gates that are still in use: asked about again in a day. $1 ids, $2 offset */
    touchGates: {
      name: 'millrace_touch_gates',
      text: `update ${s}.gates g set named_at = ${nowMs('$2')} where g.id = any($1::int[])`,
    },
  }) satisfies Record<string, Statement>;

export type LineQueries = ReturnType<typeof lineQueries>;
