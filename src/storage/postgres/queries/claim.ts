import { nowMs, probe, type Schema, type Statement } from '../statement.js';

/** Between fields and between jobs of a packed answer: JSON text and our names can't contain them. */
export const fieldSeparator = '\x1f';
export const rowSeparator = '\x1e';

/** Above so many bytes of payload an answer is not packed into one value but fetched in parts. */
export const packedBytes = 32 * 1024 * 1024;

const packedFields = (alias: string): string =>
  `${alias}.id, ${alias}.name, ${alias}.queue, ${alias}.rank, ${alias}.attempts, ${alias}.max_attempts, ${alias}.deaths, ${alias}.lapses, ${alias}.started, ${alias}.created_at, ${alias}.due, ${alias}.version, ${alias}.payload`;
/** An ordinary job. What may be null stands last. */
export const packed = (alias: string): string =>
  `concat_ws(E'\\x1f', ${packedFields(alias)}, ${alias}.errors)`;
/** Any job: with what bounds it, or nothing. */
export const packedWithTerms = (alias: string): string =>
  `concat_ws(E'\\x1f', ${packedFields(alias)}, coalesce(${alias}.terms, ''), ${alias}.errors)`;

/** Whether jobs of these lines wait in one of the queues, due or not. Needs jobs_claim: one probe per queue. An order is asked for so that it is the index that is read. */
export const boundedWait = (s: Schema, above: string, below: string): string => `
    select exists (select 1 from unnest($4::text[]) w(queue) cross join lateral (
      select 1 from ${s}.jobs i where i.queue = w.queue and i.line > ${above} and i.line < ${below} and i.status = 0 order by i.line limit 1) y) as waits`;

/**
 * What a claim takes, as common table expressions.
 *
 * Per queue in the order asked for, and per rank in ascending order, one range of jobs_claim that ends at now: jobs that
 * are not due are never walked over, however many stand at the head of a rank. Where a queue holds names the worker
 * does not know, one range of jobs_claim_named per known name. `limit` stops everything as soon as enough are locked;
 * nothing is sorted but the candidates of several names (at most limit × names).
 *
 * The row locks of SKIP LOCKED are taken one by one while the outer limit pulls, so none is taken in vain.
 * Rows are fetched by ctid, and guarded by a token that is null: a TID scan whatever the statistics say. With
 * `status = 0` beside it a plan made while the table was empty reads all of jobs_claim instead.
 *
 * Where bounded jobs wait in one of the queues nothing is taken: they may come before the ordinary ones, and the answer
 * says so. $10 is for a caller who has just seen that none of them can run.
 *
 * $1 token, $2 worker, $3 lease ms, $4 queues, $5 names, $6 limit, $7 start, $8 line, $9 offset, $10 bounded jobs can wait
 */
const claimParts = (s: Schema, gate = ''): string => `
  b as materialized (${boundedWait(s, 'case when $8::int < 0 then -2147483648 else 0 end', 'case when $8::int < 0 then -1 else 2147483647 end')}
  ), q as materialized (
    select u.queue, u.ord,
           exists (select 1 from ${s}.kinds k where k.queue = u.queue and k.name <> all($5::text[])) as mixed
      from unnest($4::text[]) with ordinality u(queue, ord)
     where (select p.queue from ${s}.paused p where p.queue = u.queue) is null
       and not exists (select 1 from ${s}.jobs h where h.status = 1 and h.token = $1::uuid) and ($10::boolean or not (select b.waits from b))${gate}
  ), picked as materialized (
    select x.tid, q.ord, r.rank, x.due, x.id
      from q
      cross join lateral (select k.rank from ${s}.kinds k where k.queue = q.queue group by k.rank order by k.rank) r
      cross join lateral (
        select a.tid, a.due, a.id from (
          select j.ctid as tid, j.due, j.id from ${s}.jobs j
           where not q.mixed and j.queue = q.queue and j.line = $8::int and j.rank = r.rank and j.status = 0 and j.due <= ${nowMs('$9')}
           order by j.due, j.id limit $6::int for update skip locked) a
        union all
        select b.tid, b.due, b.id from (
          select j.ctid as tid, j.due, j.id from ${s}.jobs j
           where q.mixed and j.token is null and j.due <= ${nowMs('$9')} and j.ctid = any(array(
             select m.tid from ${s}.kinds k
              cross join lateral (
                select i.ctid as tid, i.due, i.id from ${s}.jobs i
                 where i.queue = q.queue and i.line = $8::int and i.name = k.name and i.rank = r.rank and i.status + 0 = 0
                   and i.due <= ${nowMs('$9')}
                 order by i.due, i.id limit $6::int) m
              where k.queue = q.queue and k.rank = r.rank and k.name = any($5::text[])
              order by m.due, m.id limit $6::int))
           order by j.due, j.id limit $6::int for update skip locked) b
      ) x
     limit $6::int
  ), u as (
    update ${s}.jobs j
       set status = 1, token = $1::uuid, worker = $2, claimed_at = t.now, lease_until = t.now + $3::bigint, reason = null,
           leases = j.leases + 1, metered = null,
           started = $7::int > 0 and coalesce(
             (array_position($4::text[], j.queue), j.rank, j.due, j.id)
               <= (select p.ord::int, p.rank, p.due, p.id from picked p offset greatest($7::int, 1) - 1 limit 1), true)
      from (select ${nowMs('$9')} as now offset 0) t
     where j.ctid = any(array(select p.tid from picked p)) and j.token is null
    returning j.*
  ), k as (
    delete from ${s}.keys using (select u.id from u where u.unique_scope = 1) w where ${probe('keys.job', 'w.id')} and keys.kind = 1
  )`;

/** One row: the jobs taken, those held already under this token, how many were taken, whether others were just too quick, whether bounded jobs wait. */
const claimAnswer = (s: Schema): string => `
  case when (select coalesce(sum(octet_length(u.payload)), 0) from u) <= ${packedBytes}
       then (select string_agg(${packed('u')}, E'\\x1e') from u) end,
  (select string_agg(${packedWithTerms('h')}, E'\\x1e') from ${s}.jobs h where h.status = 1 and h.token = $1::uuid),
  (select count(*) from u),
  (select bool_or(q.mixed) from q) and not exists (select 1 from u) and exists (
    select 1 from q cross join lateral (
      select 1 from ${s}.kinds k cross join lateral (
        select 1 from ${s}.jobs i where i.queue = q.queue and i.line = $8::int and i.name = k.name and i.rank = k.rank and i.status + 0 = 0
           and i.due <= ${nowMs('$9')} limit 1) y
       where k.queue = q.queue and k.name = any($5::text[]) limit 1) z),
  not $10::boolean and (select b.waits from b)`;

/**
 * Ends plain leases as completed and moves the rows to history.
 * The guard is id, token and care. It must not say `status = 1`: the token is null unless the job runs, and with that
 * predicate the planner may take jobs_lease, which costs four fifths of the rate.
 */
export const settleParts = (
  s: Schema,
  ids: string,
  tokens: string,
  results: string,
  offset: string,
): string => `
  d as (
    delete from ${s}.jobs j using unnest(${ids}::uuid[], ${tokens}::uuid[], ${results}::text[]) n(id, token, result)
     where ${probe('j.id', 'n.id')} and j.token = n.token and j.care = 0
    returning j.*, n.result
  ), h as (
    insert into ${s}.history (id, token, due, created_at, claimed_at, finished_at, line, max_attempts, attempts, deaths, lapses, leases,
                              status, rank, unique_scope, on_failure, queue, name, payload, worker, errors, unique_key, retention, version, result, terms)
    select d.id, d.token, d.due, d.created_at, d.claimed_at, ${nowMs(offset)}, d.line, d.max_attempts, d.attempts, d.deaths, d.lapses,
           d.leases, 3, d.rank, d.unique_scope, d.on_failure, d.queue, d.name, d.payload, d.worker, d.errors, d.unique_key, d.retention, d.version, d.result, d.terms
      from d
  ), c as (
    insert into ${s}.counts (queue, status, n) select d.queue, 3, count(*) from d group by d.queue
  )`;

const wereAllEnded = ' and (select count(*) from d) = cardinality($11::uuid[])';

/** How many were ended, and when it was not all of them, which, as `<id> <token>`; whether that makes room under a limit or a budget. */
export const settleAnswer = (ids: string): string => `
  (select count(*) from d),
  case when (select count(*) from d) < cardinality(${ids}::uuid[]) then (select string_agg(concat(d.id, ' ', replace(d.token::text, '-', '')), ',') from d) end,
  exists (select 1 from d where d.gate is not null or d.metered)`;

export const claimQueries = (s: Schema) =>
  ({
    /** Needs jobs_claim, jobs_claim_named, jobs_lease. Parameters: see above. */
    claim: { name: 'millrace_claim', text: `with ${claimParts(s)} select ${claimAnswer(s)}` },

    /** Needs jobs_id. $1 ids, $2 tokens, $3 results, $4 offset. One row: how many were ended, and if not all, which. */
    settle: {
      name: 'millrace_settle',
      text: `with ${settleParts(s, '$1', '$2', '$3', '$4')} select ${settleAnswer('$1')}`,
    },

    /**
     * Both in one statement. Nothing is claimed unless all were ended: what is left may release jobs that come before those
     * a claim would take now. $1 … $10 as in `claim`, $11 ids, $12 tokens, $13 results
     */
    exchange: {
      name: 'millrace_exchange',
      text: `with ${settleParts(s, '$11', '$12', '$13', '$9')}, ${claimParts(s, wereAllEnded)} select ${claimAnswer(s)}, ${settleAnswer('$11')}`,
    },

    /** A part of what is held under a token, for answers too large for one value. Needs jobs_lease, jobs_id. $1 token, $2 ids */
    heldPart: {
      name: 'millrace_held_part',
      text: `select ${packedWithTerms('j')} from ${s}.jobs j where j.id = any($2::uuid[]) and j.token = $1::uuid`,
    },

    /** Ids and payload sizes of what is held under a token. Needs jobs_lease. $1 token */
    heldSizes: {
      name: 'millrace_held_sizes',
      text: `select j.id, octet_length(j.payload) from ${s}.jobs j where j.status = 1 and j.token = $1::uuid`,
    },

    /** Marks leases as started; returns those that hold. Needs jobs_id. $1 ids, $2 tokens */
    markStarted: {
      name: 'millrace_mark_started',
      text: `update ${s}.jobs j set started = true from unnest($1::uuid[], $2::uuid[]) n(id, token)
      where ${probe('j.id', 'n.id')} and j.token = n.token returning j.id`,
    },

    /**
     * Passes over what another transaction has locked: it is just being settled, or a user's transaction has its hands on
     * it, for which the other leases of the process must not wait. Needs jobs_lease, as a range.
     * $1 first token, $2 last token, $3 lease ms, $4 offset
     */
    renew: {
      name: 'millrace_renew',
      text: `update ${s}.jobs j set lease_until = ${nowMs('$4')} + $3::bigint
        from (select h.id from ${s}.jobs h where h.status = 1 and h.token >= $1::uuid and h.token <= $2::uuid for no key update skip locked) l
       where ${probe('j.id', 'l.id')} and j.token >= $1::uuid and j.token <= $2::uuid`,
    },

    /** Needs jobs_lease, as a range. $1 first token, $2 last token */
    held: {
      name: 'millrace_held',
      text: `select j.id, j.token, j.stop_request from ${s}.jobs j
      where j.status = 1 and j.token >= $1::uuid and j.token <= $2::uuid`,
    },

    /** Needs jobs_stopped. $1 incarnations, $2 limit */
    stopRequests: {
      name: 'millrace_stop_requests',
      text: `select j.id, j.token, j.stop_request from ${s}.jobs j where j.status + 0 = 1 and j.stop_request > 0
         and left(replace(j.token::text, '-', ''), 16) = any($1::text[]) limit $2::int`,
    },

    /**
     * Of ordinary jobs the earliest due time of all kinds, in queues without a budget; whether one that must run alone is due;
     * whether bounded ones wait, due or not, beside others or alone. Needs jobs_claim_named: one probe per kind and line.
     * $1 queues of all takes, $2 the take of each, $3 names per take, $4 queues with a budget, $5 offset
     */
    peek: {
      name: 'millrace_peek',
      text: `select min(f.due - t.now), coalesce(bool_or(a.due <= t.now), false),
             exists (select 1 from unnest($1::text[]) w(queue) cross join lateral (
               select 1 from ${s}.jobs i where i.queue = w.queue and i.line > 0 and i.status = 0 order by i.line limit 1) y),
             exists (select 1 from unnest($1::text[]) w(queue) cross join lateral (
               select 1 from ${s}.jobs i where i.queue = w.queue and i.line < -1 and i.status = 0 order by i.line limit 1) y)
      from (select ${nowMs('$5')} as now offset 0) t, unnest($1::text[], $2::int[]) u(queue, take)
      join ${s}.kinds k on k.queue = u.queue and k.name = any(string_to_array(($3::text[])[u.take], E'\\x1f'))
      left join lateral (select j.due from ${s}.jobs j where j.queue = k.queue and j.line = 0 and j.name = k.name and j.rank = k.rank
                           and j.status + 0 = 0 and k.queue <> all($4::text[]) order by j.due, j.id limit 1) f on true
      left join lateral (select j.due from ${s}.jobs j where j.queue = k.queue and j.line = -1 and j.name = k.name and j.rank = k.rank
                           and j.status + 0 = 0 and k.queue <> all($4::text[]) order by j.due, j.id limit 1) a on true
      where (select p.queue from ${s}.paused p where p.queue = k.queue) is null`,
    },
  }) satisfies Record<string, Statement>;

export type ClaimQueries = ReturnType<typeof claimQueries>;
