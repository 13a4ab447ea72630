import type { Schema, Statement } from '../statement.js';

const mostShown = 1_000;
const mostWaiting = 1_000;
/** Lines that wait are gone through one by one; so many at most. */
const mostLines = 5_000;

/** One step per line that waits in a queue, from after `first` up to below `last`. */
const steps = (s: Schema, first: string, last: string): string => `
        select q.queue, x.line from q cross join lateral (
          select i.line from ${s}.jobs i where i.queue = q.queue and i.line > ${first} and i.line < ${last} and i.status = 0 order by i.line limit 1) x
        union all
        select l.queue, x.line from l cross join lateral (
          select i.line from ${s}.jobs i where i.queue = l.queue and i.line > l.line and i.line < ${last} and i.status = 0 order by i.line limit 1) x`;

export const limitQueries = (s: Schema) =>
  ({
    /**
     * What runs and waits under limits, by group and key. Needs jobs_grouped (read as a whole: what runs), jobs_claim: a step
     * per line that waits, and what waits of each counted up to a cap; lines_id, gates_id.
     */
    limits: {
      name: 'millrace_limits',
      text: `with recursive q as materialized (
        select distinct k.queue from ${s}.kinds k
      ), shared as (
        with recursive l as (${steps(s, '0', '2147483647')}) select * from l limit ${mostLines}
      ), alone as (
        with recursive l as (${steps(s, '-2147483648', '-1')}) select * from l limit ${mostLines}
      ), w as materialized (
        select d.gate, least(sum(c.n), ${mostWaiting}) as n, min((d.terms::json ->> 2)::int) as most
          from (select * from shared union all select * from alone) l
         cross join lateral (
           select * from ${s}.lines d where d.id = any(array[case when l.line < 0 then -1 - l.line else l.line end])) d
         cross join lateral (select count(*) as n from (
           select 1 from ${s}.jobs i where i.queue = l.queue and i.line = l.line and i.status = 0 limit ${mostWaiting}) x) c
         where d.gate + 0 is not null group by d.gate
      ), r as materialized (
        select j.gate, count(*) as n, sum(j.cost) as cost, min(j.most) as most from ${s}.jobs j where j.status = 1 and j.group_id is not null group by j.gate
      )
      select g.name, case when g.kind = 1 then g.key end, least(r.most, w.most), coalesce(r.n, 0), coalesce(r.cost, 0), coalesce(w.n, 0)
        from (select r.gate from r union select w.gate from w) x
        left join r on r.gate = x.gate left join w on w.gate = x.gate
       cross join lateral (select * from ${s}.gates g where g.id = any(array[x.gate])) g
       order by g.name, g.key limit ${mostShown}`,
    },
  }) satisfies Record<string, Statement>;

export type LimitQueries = ReturnType<typeof limitQueries>;
