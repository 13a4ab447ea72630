import { nowMs, type Schema, type Statement } from '../statement.js';

export const profileQueries = (s: Schema) =>
  ({
    /** $1 names, $2 counts, $3 totals in ms, $4 most memory or null, $5 offset */
    note: {
      name: 'millrace_note_profiles',
      text: `insert into ${s}.profiles (name, minute, n, total_ms, max_rss)
      select n.name, t.now / 60000, n.count, n.total, n.rss
        from (select ${nowMs('$5')} as now offset 0) t, unnest($1::text[], $2::bigint[], $3::float8[], $4::bigint[]) n(name, count, total, rss)`,
    },

    /** Sums by name, names without any left out. Needs profiles_name. $1 names, $2 window ms, $3 offset */
    of: {
      name: 'millrace_profiles',
      text: `select n.name, x.count, x.total, x.rss
        from (select (${nowMs('$3')} - $2::bigint) / 60000 as first offset 0) t, unnest($1::text[]) with ordinality n(name, ord)
       cross join lateral (
         select sum(p.n) as count, sum(p.total_ms) as total, max(p.max_rss) as rss from ${s}.profiles p
          where p.name = n.name and p.minute >= t.first) x
       where x.count > 0 order by n.ord`,
    },

    /** One row per name and minute. */
    fold: {
      name: 'millrace_fold_profiles',
      text: `with d as (delete from ${s}.profiles where ctid = any(array(select p.ctid from ${s}.profiles p limit 10000)) returning *),
      i as (insert into ${s}.profiles (name, minute, n, total_ms, max_rss)
            select d.name, d.minute, sum(d.n), sum(d.total_ms), max(d.max_rss) from d group by d.name, d.minute)
      select count(*) from d`,
    },

    /** Needs profiles_minute. $1 kept for ms, $2 offset, $3 limit */
    purge: {
      name: 'millrace_purge_profiles',
      text: `with d as (delete from ${s}.profiles where ctid = any(array(
               select p.ctid from ${s}.profiles p where p.minute < (${nowMs('$2')} - $1::bigint) / 60000 order by p.minute limit $3::int)) returning 1)
      select count(*) from d`,
    },
  }) satisfies Record<string, Statement>;

export type ProfileQueries = ReturnType<typeof profileQueries>;
