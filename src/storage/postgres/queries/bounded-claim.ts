import { nowMs, probe, type Schema, type Statement } from '../statement.js';
import { packedWithTerms } from './claim.js';
import { dueRange, lockedRange } from './range.js';

/**
 * Above so many bytes of payload an answer is fetched in parts, after the commit. While a client does not read, the server
 * keeps the locks of what it is sending, and others wait for these gates.
 */
const heldBytes = 32 * 1024;

/** Queues with the names that are known there, and their ranks. `ord` numbers them from 1. */
const queueParts = (s: Schema, names: string): string => `
    select u.*, exists (select 1 from ${s}.kinds k where k.queue = u.queue and k.name <> all(${names})) as mixed, ${names} as names,
           array(select k.rank from ${s}.kinds k where k.queue = u.queue group by k.rank order by k.rank) as ranks`;

const isPaused = (s: Schema): string =>
  `(select p.queue from ${s}.paused p where p.queue = u.queue) is not null`;

const packedLoads = (alias: string): string =>
  `string_agg(concat(${alias}.kind, ' ', ${alias}.id, ' ', ${alias}.n, ' ', ${alias}.most, ' ', ${alias}.cost, ' ', ${alias}.served), ',')`;

export const boundedClaimQueries = (s: Schema) =>
  ({
    /**
     * Which lines have jobs that wait, from a line on in each queue, with the first job of known name that is due, if one is,
     * and the last turn of its key. Steps from line to line, at most $6 of them. Needs jobs_claim, jobs_claim_named.
     * $1 queues, $2 after which line in each, $3 names, $4 below which line, $5 offset, $6 limit
     */
    scan: {
      name: 'millrace_scan_lines',
      text: `with recursive q as materialized (${queueParts(s, '$3::text[]')}
        from unnest($1::text[], $2::int[]) with ordinality u(queue, after, ord) where not ${isPaused(s)}
      ), l as (
        select q.ord, q.queue, x.line from q cross join lateral (
          select i.line from ${s}.jobs i where i.queue = q.queue and i.line > q.after and i.line < $4::int and i.status = 0 order by i.line limit 1) x
        union all
        select l.ord, l.queue, x.line from l cross join lateral (
          select i.line from ${s}.jobs i where i.queue = l.queue and i.line > l.line and i.line < $4::int and i.status = 0 order by i.line limit 1) x
      )
      select l.ord, l.line, x.rank, x.due, x.id,
             (select (select g.served from ${s}.gates g where g.id = d.gate) from ${s}.lines d where d.id = case when l.line < 0 then -1 - l.line else l.line end)
        from (select * from l limit $6::int) l
        join q on q.ord = l.ord
        left join lateral (
          select r.rank, y.due, y.id from unnest(q.ranks) r(rank)
          cross join lateral (${dueRange(s, { queue: 'q.queue', line: 'l.line', rank: 'r.rank', names: 'q.names', mixed: 'q.mixed', now: nowMs('$5'), limit: '1' })}) y
          limit 1) x on true`,
    },

    /**
     * The first due jobs of lines, and what runs under their gates, both as they are just now: nothing is locked. One row:
     * jobs as `<source> <rank> <due> <id>`, loads, and the jobs that are held under the token already.
     * Needs jobs_claim, jobs_claim_named, jobs_grouped, jobs_metered, jobs_lease.
     * $1 token, $2 sources: queues, $3 lines, $4 takes, $5 depths, $6 names per take (joined by U+001F), $7 gates, $8 their groups,
     * $9 groups with a budget, $10 gates of queues with a budget, $11 offset
     */
    heads: {
      name: 'millrace_heads',
      text: `with n as materialized (
        select u.queue, u.line, u.take, u.depth, u.ord from unnest($2::text[], $3::int[], $4::int[], $5::int[]) with ordinality u(queue, line, take, depth, ord)
      ), q as materialized (${queueParts(s, "string_to_array(($6::text[])[u.take], E'\\x1f')")}
        from (select distinct n.queue, n.take from n) u where not ${isPaused(s)}
      )
      select (select string_agg(concat(n.ord, ' ', x.rank, ' ', x.due, ' ', x.id), ',')
                from n join q on q.queue = n.queue and q.take = n.take
                cross join lateral (
                  select r.rank, y.due, y.id from unnest(q.ranks) r(rank)
                  cross join lateral (${dueRange(s, { queue: 'n.queue', line: 'n.line', rank: 'r.rank', names: 'q.names', mixed: 'q.mixed', now: nowMs('$11'), limit: 'n.depth' })}) y
                  limit n.depth) x),
             (select ${packedLoads('l')} from ${s}.loads('{}', $7::int[], $8::int[], $9::int[], $10::int[]) l),
             (select string_agg(${packedWithTerms('h')}, E'\\x1e') from ${s}.jobs h where h.status = 1 and h.token = $1::uuid)`,
    },

    /**
     * The earliest time to come at which a job of these lines falls due, ms from now. Needs jobs_claim_named: one probe per
     * line and kind. $1 queues, $2 lines, $3 takes, $4 names per take, $5 offset
     */
    next: {
      name: 'millrace_next_due',
      text: `select min(x.due) - min(t.now) from (select ${nowMs('$5')} as now offset 0) t,
             unnest($1::text[], $2::int[], $3::int[]) n(queue, line, take)
       join ${s}.kinds k on k.queue = n.queue and k.name = any(string_to_array(($4::text[])[n.take], E'\\x1f'))
      cross join lateral (
        select i.due from ${s}.jobs i where i.queue = k.queue and i.line = n.line and i.name = k.name and i.rank = k.rank and i.status + 0 = 0
           and i.due > t.now order by i.due, i.id limit 1) x
      where (select p.queue from ${s}.paused p where p.queue = k.queue) is null`,
    },

    /**
     * Takes jobs by lines: of each source at most as many as are wanted, in their order, and as still fit under its limit and
     * budgets. Gates are locked, in ascending id, before what runs is counted, and stay so until the commit at the end of
     * this statement: nobody can stop half-way with a lock in hand. What was wanted of sources before weighs on those after,
     * also where it was not to be had.
     * Needs jobs_claim, jobs_claim_named, jobs_grouped, jobs_metered, jobs_id.
     * $1 token, $2 worker, $3 lease ms, $4 sources: queues, $5 lines, $6 takes, $7 how many are wanted, $8 how many of them are to
     * start, $9 gates, $10 groups with a budget, $11 gates of queues with a budget, $12 maxima, $13 costs, $14 names per take,
     * $15 gates to lock, $16 gates to count, $17 their groups, $18 groups to count, $19 their budgets, $20 queues to count by gate,
     * $21 their budgets, $22 gates of keys that have their turn, $23 places of these turns, $24 offset
     */
    take: {
      name: 'millrace_take',
      text: `with n as materialized (
        select u.* from unnest($4::text[], $5::int[], $6::int[], $7::int[], $8::int[], $9::int[], $10::int[], $11::int[], $12::int[], $13::int[])
          with ordinality u(queue, line, take, wanted, start, gate, group_id, meter, most, cost, ord)
      ), q as materialized (${queueParts(s, "string_to_array(($14::text[])[u.take], E'\\x1f')")}
        from (select distinct n.queue, n.take from n) u where not ${isPaused(s)}
      ), l as materialized (
        select * from ${s}.loads($15::int[], $16::int[], $17::int[], $18::int[], $20::int[])
      ), f as materialized (
        select n.*, greatest(0, least(n.wanted,
            case when n.gate is not null then
              least(case when r.served is null then 0 else coalesce(r.most, 2147483647) end, min(n.most) over (partition by n.gate))
              - coalesce(r.n, 0)
              - coalesce(sum(n.wanted) over (partition by n.gate order by n.ord rows between unbounded preceding and 1 preceding), 0) end,
            case when n.group_id is not null then
              floor((case when b.served is null then 0 else ($19::bigint[])[array_position($18::int[], n.group_id)] - b.cost end
              - coalesce(sum(n.wanted::bigint * n.cost) over (partition by n.group_id order by n.ord rows between unbounded preceding and 1 preceding), 0)) / n.cost) end,
            case when n.meter is not null then
              floor((case when m.served is null then 0 else ($21::bigint[])[array_position($20::int[], n.meter)] - m.cost end
              - coalesce(sum(n.wanted::bigint * n.cost) over (partition by n.meter order by n.ord rows between unbounded preceding and 1 preceding), 0)) / n.cost) end
          ))::int as fits
          from n
          left join l r on r.kind = 1 and r.id = n.gate
          left join l b on b.kind = 2 and b.id = n.group_id
          left join l m on m.kind = 3 and m.id = n.meter
      ), picked as materialized (
        select x.tid, x.id, row_number() over (partition by f.ord order by x.rank, x.due, x.id) > f.start as waits, f.meter is not null as metered, f.gate
          from f join q on q.queue = f.queue and q.take = f.take
          cross join lateral (
            select r.rank, y.tid, y.due, y.id from unnest(q.ranks) r(rank)
            cross join lateral (${lockedRange(s, { queue: 'f.queue', line: 'f.line', rank: 'r.rank', names: 'q.names', mixed: 'q.mixed', now: nowMs('$24'), limit: 'f.fits' })}) y
            limit f.fits) x
      ), u as (
        update ${s}.jobs j
           set status = 1, token = $1::uuid, worker = $2, claimed_at = t.now, lease_until = t.now + $3::bigint, reason = null,
               leases = j.leases + 1, started = j.id <> all(array(select p.id from picked p where p.waits)),
               metered = case when j.queue = any(array(select distinct n.queue from n where n.meter is not null)) then true end
          from (select ${nowMs('$24')} as now offset 0) t
         where j.ctid = any(array(select p.tid from picked p)) and j.token is null
        returning j.*
      ), k as (
        delete from ${s}.keys using (select u.id from u where u.unique_scope = 1) w where ${probe('keys.job', 'w.id')} and keys.kind = 1
      ), g as (
        update ${s}.gates g set served = w.turn + w.place
          from (select t.gate, t.place, (select l.turn from l where l.kind = 0) as turn
                  from unnest($22::int[], $23::int[]) t(gate, place) where t.gate in (select u.gate from u)) w
         where ${probe('g.id', 'w.gate')}
      )
      select case when (select coalesce(sum(octet_length(u.payload)), 0) from u) <= ${heldBytes} then (select string_agg(${packedWithTerms('u')}, E'\\x1e') from u) end,
             (select string_agg(u.id::text, ',') from u),
             (select ${packedLoads('l')} from l)`,
    },
  }) satisfies Record<string, Statement>;

export type BoundedClaimQueries = ReturnType<typeof boundedClaimQueries>;
