import { nowMs, probe, type Schema, type Statement } from '../statement.js';
import { boundedWait, packed, packedBytes, packedWithTerms, settleAnswer, settleParts } from './claim.js';
import { lockedRange } from './range.js';

/**
 * A claim of several takes: each as in queries/claim.ts, one after the other, in one statement.
 *
 * $1 token, $2 worker, $3 lease ms, $4 queues of all takes, $5 the take of each (from 1), $6 names per take (joined by U+001F),
 * $7 limits, $8 starts, $9 offset, $10 bounded jobs can wait
 */
const claimParts = (s: Schema, gate = ''): string => `
  b as materialized (${boundedWait(s, '0', '2147483647')}
  ), q as materialized (
    select u.queue, u.take, u.ord, string_to_array(($6::text[])[u.take], E'\\x1f') as names,
           exists (select 1 from ${s}.kinds k where k.queue = u.queue and k.name <> all(string_to_array(($6::text[])[u.take], E'\\x1f'))) as mixed
      from unnest($4::text[], $5::int[]) with ordinality u(queue, take, ord)
     where (select p.queue from ${s}.paused p where p.queue = u.queue) is null
       and not exists (select 1 from ${s}.jobs h where h.status = 1 and h.token = $1::uuid) and ($10::boolean or not (select b.waits from b))${gate}
  ), picked as materialized (
    select x.tid, x.id, row_number() over (partition by t.take order by x.ord, x.rank, x.due, x.id) > t.start as waits
      from unnest($7::int[], $8::int[]) with ordinality t(most, start, take)
      cross join lateral (
        select y.tid, y.id, y.due, q.ord, r.rank
          from q
          cross join lateral (select k.rank from ${s}.kinds k where k.queue = q.queue group by k.rank order by k.rank) r
          cross join lateral (${lockedRange(s, { queue: 'q.queue', line: '0', rank: 'r.rank', names: 'q.names', mixed: 'q.mixed', now: nowMs('$9'), limit: 't.most' })}) y
         where q.take = t.take
         limit t.most) x
  ), u as (
    update ${s}.jobs j
       set status = 1, token = $1::uuid, worker = $2, claimed_at = t.now, lease_until = t.now + $3::bigint, reason = null,
           leases = j.leases + 1, metered = null, started = j.id <> all(array(select p.id from picked p where p.waits))
      from (select ${nowMs('$9')} as now offset 0) t
     where j.ctid = any(array(select p.tid from picked p)) and j.token is null
    returning j.*
  ), k as (
    delete from ${s}.keys using (select u.id from u where u.unique_scope = 1) w where ${probe('keys.job', 'w.id')} and keys.kind = 1
  )`;

/** One row, as that of a claim of one take. */
const claimAnswer = (s: Schema): string => `
  case when (select coalesce(sum(octet_length(u.payload)), 0) from u) <= ${packedBytes}
       then (select string_agg(${packed('u')}, E'\\x1e') from u) end,
  (select string_agg(${packedWithTerms('h')}, E'\\x1e') from ${s}.jobs h where h.status = 1 and h.token = $1::uuid),
  (select count(*) from u),
  (select bool_or(q.mixed) from q) and not exists (select 1 from u) and exists (
    select 1 from q cross join lateral (
      select 1 from ${s}.kinds k cross join lateral (
        select 1 from ${s}.jobs i where i.queue = q.queue and i.line = 0 and i.name = k.name and i.rank = k.rank and i.status + 0 = 0
           and i.due <= ${nowMs('$9')} limit 1) y
       where k.queue = q.queue and k.name = any(q.names) limit 1) z),
  not $10::boolean and (select b.waits from b)`;

const wereAllEnded = ' and (select count(*) from d) = cardinality($11::uuid[])';

export const claimManyQueries = (s: Schema) =>
  ({
    /** Needs jobs_claim, jobs_claim_named, jobs_lease. Parameters: see above. */
    claim: { name: 'millrace_claim_many', text: `with ${claimParts(s)} select ${claimAnswer(s)}` },

    /** Behind a plain settle. $1 … $10 as in `claim`, $11 ids, $12 tokens, $13 results */
    exchange: {
      name: 'millrace_exchange_many',
      text: `with ${settleParts(s, '$11', '$12', '$13', '$9')}, ${claimParts(s, wereAllEnded)} select ${claimAnswer(s)}, ${settleAnswer('$11')}`,
    },
  }) satisfies Record<string, Statement>;

export type ClaimManyQueries = ReturnType<typeof claimManyQueries>;
