import { nowMs, probe, type Schema, type Statement } from '../statement.js';

export const enqueueQueries = (s: Schema) =>
  ({
    /**
     * One plain job, in one round trip. No row = this id is known already.
     * Needs jobs_id and history_id.
     * $1 id, $2 queue, $3 name, $4 rank, $5 due in ms (or null), $6 due at (or null), $7 payload, $8 max attempts, $9 retention, $10 offset, $11 version
     */
    insertOne: {
      name: 'millrace_insert_one',
      text: `insert into ${s}.jobs as j (id, queue, name, line, rank, due, status, payload, max_attempts, retention, created_at, version)
      select $1::uuid, $2, $3, 0, $4::smallint, coalesce($6::bigint, t.now + $5::bigint), 0, $7, $8::int, $9::bigint, t.now, $11::int
        from (select ${nowMs('$10')} as now offset 0) t
       where (select h.id from ${s}.history h where h.id = $1::uuid) is null
      on conflict (id) do nothing returning 1`,
    },

    /**
     * Many plain jobs. One row: how many were written, and when it was not all of them, which; the others are known already.
     * The look into history is a scalar subselect, since a join could be planned as a scan of all history.
     * Needs jobs_id and history_id. $1 … $9 arrays in the order of \`insertOne\`, $10 offset, $11 versions
     */
    insertMany: {
      name: 'millrace_insert_many',
      text: `with i as (
      insert into ${s}.jobs as j (id, queue, name, line, rank, due, status, payload, max_attempts, retention, created_at, version)
      select n.id, n.queue, n.name, 0, n.rank, coalesce(n.due_at, t.now + n.in_ms), 0, n.payload, n.max_attempts, n.retention, t.now, n.version
        from (select ${nowMs('$10')} as now offset 0) t,
             unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::text[], $8::int[], $9::bigint[], $11::int[])
               n(id, queue, name, rank, in_ms, due_at, payload, max_attempts, retention, version)
       where (select h.id from ${s}.history h where h.id = n.id) is null
      on conflict (id) do nothing returning id)
      select count(*), case when count(*) < cardinality($1::uuid[]) then string_agg(i.id::text, ',') end from i`,
    },

    /** Plain jobs of which some are bounded, as \`insertMany\`. $1 … $11 as there, $12 lines, $13 gates, $14 groups, $15 maxima, $16 costs, $17 terms */
    insertBounded: {
      name: 'millrace_insert_bounded',
      text: `with i as (
      insert into ${s}.jobs as j (id, queue, name, line, rank, due, status, payload, max_attempts, retention, created_at, version,
                                  gate, group_id, most, cost, terms)
      select n.id, n.queue, n.name, n.line, n.rank, coalesce(n.due_at, t.now + n.in_ms), 0, n.payload, n.max_attempts, n.retention, t.now,
             n.version, n.gate, n.group_id, n.most, n.cost, n.terms
        from (select ${nowMs('$10')} as now offset 0) t,
             unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::text[], $8::int[], $9::bigint[], $11::int[],
                    $12::int[], $13::int[], $14::int[], $15::int[], $16::int[], $17::text[])
               n(id, queue, name, rank, in_ms, due_at, payload, max_attempts, retention, version, line, gate, group_id, most, cost, terms)
       where (select h.id from ${s}.history h where h.id = n.id) is null
      on conflict (id) do nothing returning id)
      select count(*), case when count(*) < cardinality($1::uuid[]) then string_agg(i.id::text, ',') end from i`,
    },

    /**
     * Jobs with everything decided: status (0 or 2), care, unique key, policy.
     * $1 … $9 as in \`insertMany\`, $10 offset, $11 status, $12 care, $13 unique keys, $14 scopes, $15 policies, $16 versions,
     * $17 … $22 bounds as $12 … $17 in \`insertBounded\`
     */
    insertDecided: {
      name: 'millrace_insert_decided',
      text: `insert into ${s}.jobs as j (id, queue, name, line, rank, due, status, payload, max_attempts, retention, created_at, care,
                          unique_key, unique_scope, on_failure, version, gate, group_id, most, cost, terms)
      select n.id, n.queue, n.name, n.line, n.rank, coalesce(n.due_at, t.now + n.in_ms), n.status, n.payload, n.max_attempts, n.retention,
             t.now, n.care, n.unique_key, n.unique_scope, n.on_failure, n.version, n.gate, n.group_id, n.most, n.cost, n.terms
        from (select ${nowMs('$10')} as now offset 0) t,
             unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::text[], $8::int[], $9::bigint[],
                    $11::smallint[], $12::smallint[], $13::text[], $14::smallint[], $15::smallint[], $16::int[],
                    $17::int[], $18::int[], $19::int[], $20::int[], $21::int[], $22::text[])
               n(id, queue, name, rank, in_ms, due_at, payload, max_attempts, retention, status, care, unique_key, unique_scope,
                 on_failure, version, line, gate, group_id, most, cost, terms)
      on conflict (id) do nothing returning id`,
    },

    /**
     * Jobs that are final from birth, because a job they were to wait for has failed.
     * $1 … $9 as in \`insertMany\`, $10 offset, $11 status, $12 unique keys, $13 scopes, $14 policies, $15 versions, $16 terms
     */
    insertEnded: {
      name: 'millrace_insert_ended',
      text: `with h as (
      insert into ${s}.history (id, queue, name, line, rank, due, status, payload, max_attempts, retention, created_at, finished_at,
                                attempts, deaths, lapses, leases, reason, unique_key, unique_scope, on_failure, version, terms)
      select n.id, n.queue, n.name, 0, n.rank, coalesce(n.due_at, t.now + n.in_ms), n.status, n.payload, n.max_attempts, n.retention,
             t.now, t.now, 0, 0, 0, 0, 'parent-failed', n.unique_key, n.unique_scope, n.on_failure, n.version, n.terms
        from (select ${nowMs('$10')} as now offset 0) t,
             unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::text[], $8::int[], $9::bigint[],
                    $11::smallint[], $12::text[], $13::smallint[], $14::smallint[], $15::int[], $16::text[])
               n(id, queue, name, rank, in_ms, due_at, payload, max_attempts, retention, status, unique_key, unique_scope, on_failure, version,
                 terms)
      on conflict (id) do nothing returning id, queue, status)
      , c as (insert into ${s}.counts (queue, status, n) select queue, status, count(*) from h group by queue, status)
      select id from h`,
    },

    /** Which combinations there are; written and committed before the first job of each. $1 queues, $2 ranks, $3 names */
    addKinds: {
      name: 'millrace_add_kinds',
      text: `insert into ${s}.kinds (queue, rank, name) select * from unnest($1::text[], $2::smallint[], $3::text[]) on conflict do nothing`,
    },

    /** Which of these ids are known. Needs jobs_id, history_id. $1 ids */
    knownIds: {
      name: 'millrace_known_ids',
      text: `select n.id from unnest($1::uuid[]) n(id)
      where (select j.id from ${s}.jobs j where j.id = n.id) is not null or (select h.id from ${s}.history h where h.id = n.id) is not null`,
    },

    /** Locks those of these parents that live, in ascending id: they can't end before this transaction does. $1 ids */
    lockParents: {
      name: 'millrace_lock_parents',
      text: `select j.id from ${s}.jobs j where j.id = any($1::uuid[]) order by j.id for no key update`,
    },

    /** Their settle has to look for dependents from now on. $1 ids */
    markFollowed: {
      name: 'millrace_mark_followed',
      text: `update ${s}.jobs set care = care | 1 where id = any($1::uuid[]) and care & 1 = 0`,
    },

    /**
     * Locks those of these parents that ended, in ascending id, so that none is purged before its dependent stands there.
     * With a column that no index has, so that none is read as a whole. $1 ids
     */
    endedStatus: {
      name: 'millrace_ended_status',
      text: `select id, status, due from ${s}.history where id = any($1::uuid[]) order by id for key share`,
    },

    /** $1 tags, $2 jobs */
    addTags: {
      name: 'millrace_add_tags',
      text: `insert into ${s}.tags (tag, job) select * from unnest($1::text[], $2::uuid[]) on conflict do nothing`,
    },

    /** $1 children, $2 parents, $3 whether met */
    addDependencies: {
      name: 'millrace_add_dependencies',
      text: `insert into ${s}.dependencies (child, parent, met) select * from unnest($1::uuid[], $2::uuid[], $3::boolean[]) on conflict do nothing`,
    },

    /**
     * Takes keys that nobody holds, and locks those whose period has passed; waits for another transaction that is just taking one.
     * A key that another job holds is not locked: whoever ends that job frees it, and a user's transaction that asked for it
     * would then keep the ending waiting, perhaps for a lock that it holds. Distinct keys only, in ascending order. Returns
     * those taken. $1 kinds, $2 keys, $3 jobs, $4 offset
     */
    takeKeys: {
      name: 'millrace_take_keys',
      text: `with i as (
      insert into ${s}.keys (kind, key, job)
      select n.kind, n.key, n.job from unnest($1::smallint[], $2::text[], $3::uuid[]) n(kind, key, job) order by n.kind, n.key collate "C"
      on conflict (kind, key) do nothing returning kind, key),
      u as (
      update ${s}.keys k set kind = n.kind from unnest($1::smallint[], $2::text[]) n(kind, key)
      where ${probe('k.kind', 'n.kind')} and ${probe('k.key', 'n.key')} and k.until <= ${nowMs('$4')}
      returning k.kind, k.key)
      select kind, key from i union all select kind, key from u`,
    },

    /** Who holds them. $1 kinds, $2 keys */
    keyHolders: {
      name: 'millrace_key_holders',
      text: `select k.kind, k.key, k.job, k.input_hash from unnest($1::smallint[], $2::text[]) n(kind, key)
      cross join lateral (select * from ${s}.keys k where k.kind = n.kind and k.key = n.key offset 0) k`,
    },

    /** Says for whom, and how long, keys taken by this transaction are held. $1 kinds, $2 keys, $3 jobs, $4 period ms or null, $5 hashes, $6 offset */
    assignKeys: {
      name: 'millrace_assign_keys',
      text: `update ${s}.keys k set job = n.job, until = ${nowMs('$6')} + n.period, input_hash = n.hash
      from unnest($1::smallint[], $2::text[], $3::uuid[], $4::bigint[], $5::text[]) n(kind, key, job, period, hash)
      where ${probe('k.kind', 'n.kind')} and ${probe('k.key', 'n.key')}`,
    },

    /** Gives keys back that this transaction took in vain; one whose period has passed is left as it was. $1 kinds, $2 keys */
    returnKeys: {
      name: 'millrace_return_keys',
      text: `delete from ${s}.keys k using unnest($1::smallint[], $2::text[]) n(kind, key)
      where ${probe('k.kind', 'n.kind')} and ${probe('k.key', 'n.key')} and k.until is null`,
    },
  }) satisfies Record<string, Statement>;

export type EnqueueQueries = ReturnType<typeof enqueueQueries>;
