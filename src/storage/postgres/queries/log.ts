import { nowMs, probe, type Schema, type Statement } from '../statement.js';

export const logQueries = (s: Schema) =>
  ({
    /**
     * Adds lines of leases that still hold, or that ended their job, up to the caps of a job; repeated ones are left out before they are counted.
     * Needs jobs_id, history_id, logs_line. $1 ids, $2 tokens, $3 seqs, $4 kinds, $5 levels, $6 texts, $7 offset, $8 most lines, $9 most bytes
     */
    append: {
      name: 'millrace_log_append',
      text: `insert into ${s}.logs (job, at, lease, seq, kind, level, text)
      select c.job, ${nowMs('$7')}, c.lease, c.seq, c.kind, c.level, c.text from (
        select f.*, row_number() over w as lines, sum(octet_length(f.text)) over w as bytes from (
          select distinct on (n.id, n.seq) n.id as job, j.leases as lease, n.seq, n.kind, n.level, n.text, n.ord
            from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[]) with ordinality n(id, token, seq, kind, level, text, ord)
            cross join lateral (select j.leases from ${s}.jobs j where ${probe('j.id', 'n.id')} and j.token = n.token
              union all select h.leases from ${s}.history h where ${probe('h.id', 'n.id')} and h.token = n.token) j
           where (select l.seq from ${s}.logs l where l.job = n.id and l.lease = j.leases and l.seq = n.seq) is null
           order by n.id, n.seq, n.ord) f
        window w as (partition by f.job order by f.ord)) c
      cross join lateral (select count(*) as lines, coalesce(sum(octet_length(l.text)), 0) as bytes from ${s}.logs l where l.job = c.job) had
      where had.lines + c.lines <= $8::int and had.bytes + c.bytes <= $9::int
      on conflict do nothing`,
    },

    /** Needs logs_line. $1 job, $2 after lease, $3 after seq, $4 limit */
    page: {
      name: 'millrace_log_page',
      text: `select l.lease, l.seq, l.at, l.kind, l.level, l.text from ${s}.logs l
      where l.job = $1::uuid and (l.lease, l.seq) > ($2::int, $3::int) order by l.lease, l.seq limit $4::int`,
    },
  }) satisfies Record<string, Statement>;

export type LogQueries = ReturnType<typeof logQueries>;
