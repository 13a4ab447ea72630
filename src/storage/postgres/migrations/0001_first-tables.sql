-- Jobs that live (hot) and jobs that ended (history), with what belongs to them.
-- oldest-code: 1
--
-- {{schema}} stands for the quoted name of the schema. Times are epoch milliseconds of the server's clock.
-- status: 0 pending, 1 processing, 2 blocked, 3 completed, 4 buried, 5 cancelled.
-- line: 0 ordinary, above 0 the id of what bounds the job (table lines); a job that must run alone has -1 - that.
-- rank: minus priority, so that every order is ascending.
-- terms, gate, group_id, most, cost: what bounds the job, null where nothing does. metered: taken under a queue's budget.
-- version: of the shape of the payload.
-- care: what a plain settle must leave to the followed path. 1 has dependents, 2 stop requested, 4 holds a key.

create table {{schema}}.jobs (
  id uuid not null,
  token uuid,
  due bigint not null,
  created_at bigint not null,
  lease_until bigint,
  claimed_at bigint,
  line integer not null,
  max_attempts integer not null,
  attempts integer not null default 0,
  deaths integer not null default 0,
  lapses integer not null default 0,
  leases integer not null default 0,
  status smallint not null,
  rank smallint not null,
  care smallint not null default 0,
  stop_request smallint not null default 0,
  unique_scope smallint not null default 0,
  on_failure smallint not null default 0,
  version integer not null default 1,
  started boolean not null default false,
  queue text collate "C" not null,
  name text collate "C" not null,
  payload text not null,
  worker text,
  errors text,
  reason text,
  unique_key text collate "C",
  retention bigint,
  gate integer,
  group_id integer,
  most integer,
  cost integer,
  metered boolean,
  terms text,
  constraint jobs_id primary key (id)
);

-- The claim reads one range of it per queue and rank.
create index jobs_claim on {{schema}}.jobs (queue, line, rank, due, id) where status = 0;
-- The claim of a worker that does not know every name of a queue reads one range per name; so does peek. Its predicate
-- is written so that a query can only use the index it means: without statistics the planner holds both for equal.
create index jobs_claim_named on {{schema}}.jobs (queue, line, name, rank, due, id) where status + 0 = 0;
-- Leases by incarnation, which is the first half of the token. No guarded write may say "status = 1": see queries/settle.ts.
create index jobs_lease on {{schema}}.jobs (token) where status = 1;
create index jobs_blocked on {{schema}}.jobs (queue, id) where status = 2;
-- What runs of a group and key, and of a group; what runs under a queue's budget. No ordinary job stands in any of these.
create index jobs_grouped on {{schema}}.jobs (group_id, gate) where status = 1 and group_id is not null;
create index jobs_metered on {{schema}}.jobs (queue) where status = 1 and metered;
-- Whether a line is still in use.
create index jobs_line on {{schema}}.jobs (line) where line not in (0, -1);

create table {{schema}}.history (
  id uuid not null,
  token uuid,
  due bigint not null,
  created_at bigint not null,
  claimed_at bigint,
  finished_at bigint not null,
  line integer not null,
  max_attempts integer not null,
  attempts integer not null,
  deaths integer not null,
  lapses integer not null,
  leases integer not null,
  version integer not null default 1,
  status smallint not null,
  rank smallint not null,
  unique_scope smallint not null,
  on_failure smallint not null,
  queue text collate "C" not null,
  name text collate "C" not null,
  payload text not null,
  worker text,
  errors text,
  reason text,
  unique_key text collate "C",
  retention bigint,
  result text,
  outcome text,
  terms text,
  constraint history_id primary key (id)
);

-- Lists, newest first.
create index history_list on {{schema}}.history (queue, status, id);
-- What a purge takes, by the system's retention and by the row's own.
create index history_ended on {{schema}}.history (status, finished_at);
create index history_retention on {{schema}}.history (status, (finished_at + retention)) where retention is not null;

-- Tags of jobs. Kept as long as the job's row.
create table {{schema}}.tags (
  tag text collate "C" not null,
  job uuid not null,
  constraint tags_job primary key (job, tag)
);
-- Only the list by tag says this predicate, so nothing that looks for the tags of a job can be planned over it.
create index tags_tag on {{schema}}.tags (tag, job) where length(tag) > 0;

-- Which job waits (or waited) for which. Kept as long as both rows are there.
create table {{schema}}.dependencies (
  child uuid not null,
  parent uuid not null,
  met boolean not null,
  constraint dependencies_edge primary key (child, parent)
);
create index dependencies_parent on {{schema}}.dependencies (parent, child);

-- kind: 1 unique, 2 idempotency.
create table {{schema}}.keys (
  kind smallint not null,
  key text collate "C" not null,
  job uuid not null,
  until bigint,
  input_hash text,
  constraint keys_key primary key (kind, key)
);
create index keys_job on {{schema}}.keys (job);
create index keys_until on {{schema}}.keys (until) where until is not null;

-- Every combination that was ever dispatched; written before the first job of it. The claim goes through these ranks.
create table {{schema}}.kinds (
  queue text collate "C" not null,
  rank smallint not null,
  name text collate "C" not null,
  constraint kinds_kind primary key (queue, rank, name)
);

-- What claimers lock, in ascending id, before they count what runs. kind: 1 a group and key, 2 a group without a key, 3 a
-- whole group (its budget), 4 a queue with a budget. served: when its key had its turn
-- last, microseconds of the server's clock; 0 = never.
create table {{schema}}.gates (
  id integer generated always as identity,
  kind smallint not null,
  name text collate "C" not null,
  key text collate "C" not null,
  served bigint not null default 0,
  named_at bigint not null,
  constraint gates_id primary key (id),
  constraint gates_gate unique (kind, name, key)
) with (fillfactor = 50); -- a turn rewrites the row: in its own page no index has to know
create index gates_named on {{schema}}.gates (named_at);

-- Jobs that agree in group, key, maximum, cost and labels stand in one line: what keeps the first of them keeps all.
-- terms: these five as a JSON array; hash: its SHA-256. named_at: when a dispatcher last asked for it, to the hour.
create table {{schema}}.lines (
  id integer generated always as identity,
  hash text collate "C" not null,
  gate integer,
  group_id integer,
  named_at bigint not null,
  terms text not null,
  constraint lines_id primary key (id),
  constraint lines_hash unique (hash)
);
create index lines_named on {{schema}}.lines (named_at);
create index lines_gate on {{schema}}.lines (gate) where gate is not null;
create index lines_group on {{schema}}.lines (group_id) where group_id is not null;

-- What attempts of a handler took, by the minute they were noted in. Rows are only added, and folded now and then.
create table {{schema}}.profiles (
  name text collate "C" not null,
  minute bigint not null,
  n bigint not null,
  total_ms double precision not null,
  max_rss bigint
);
create index profiles_name on {{schema}}.profiles (name, minute);
create index profiles_minute on {{schema}}.profiles (minute);

create table {{schema}}.paused (
  queue text collate "C" not null,
  constraint paused_queue primary key (queue)
);

-- Endings by queue: rows are only added, and folded into one per queue and status now and then.
create table {{schema}}.counts (
  queue text collate "C" not null,
  status smallint not null,
  n bigint not null
);

create table {{schema}}.logs (
  job uuid not null,
  at bigint not null,
  lease integer not null,
  seq integer not null,
  kind text not null,
  level text not null,
  text text not null,
  constraint logs_line primary key (job, lease, seq)
);
create index logs_at on {{schema}}.logs (at);

create table {{schema}}.workers (
  id text collate "C" not null,
  incarnation text not null,
  admin_state text not null,
  started_at bigint not null,
  heartbeat_at bigint not null,
  gone boolean not null,
  recycle_asked boolean not null,
  -- Only kept for its admin state.
  forgotten boolean not null,
  report text not null,
  constraint workers_id primary key (id)
);

create table {{schema}}.audit (
  at bigint not null,
  id uuid not null,
  actor text not null,
  action text not null,
  target text not null,
  source text not null,
  result text not null,
  constraint audit_id primary key (id)
);
create index audit_at on {{schema}}.audit (at, id);

create table {{schema}}.duties (
  name text collate "C" not null,
  holder text not null,
  until bigint not null,
  constraint duties_name primary key (name)
);

-- A repeat of a dispatch can come while its job is settled: the insert waits for the row that the settle deletes, and
-- then meets no conflict, while its look into history is older than the wait. So each insert looks once more when its
-- rows stand there; a function that may write sees what is committed by then. The error is a conflict, and tried again.
create function {{schema}}.refuse_ended() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  if exists (select from inserted i where (select h.id from {{schema}}.history h where h.id = i.id) is not null) then
    raise exception 'a job that was dispatched again has just ended' using errcode = 'serialization_failure';
  end if;
  return null;
end
$$;
create trigger refuse_ended after insert on {{schema}}.jobs
  referencing new table as inserted for each statement execute function {{schema}}.refuse_ended();

-- Locks gates and then counts, so that of two claimers the second sees what the first has taken: each statement in a
-- function that may write looks at what is committed by then. Without gates to lock it only counts.
-- kind 1: a group and key (by its gate, with the gate of its group), 2: a whole group, 3: a queue. n and cost: of what
-- runs; most: its smallest maximum. served: null where the gate has gone. A turn is later than all that were locked.
create function {{schema}}.loads(locked integer[], keyed integer[], groups_of_keyed integer[], grouped integer[], metered integer[])
returns table (kind integer, id integer, n bigint, most integer, cost bigint, served bigint, turn bigint)
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  latest bigint := 0;
begin
  if cardinality(locked) > 0 then
    select max(g.served) into latest
      from (select l.served from {{schema}}.gates l where l.id = any(locked) order by l.id for no key update) g;
  end if;
  return query
    select 1, k.gate, c.n, c.most, null::bigint, (select g.served from {{schema}}.gates g where g.id = k.gate), null::bigint
      from unnest(keyed, groups_of_keyed) k(gate, group_id)
     cross join lateral (select count(*), min(j.most) from {{schema}}.jobs j
                          where j.status = 1 and j.group_id = k.group_id and j.gate = k.gate) c(n, most)
    union all
    select 2, k.gate, null, null, c.cost, (select g.served from {{schema}}.gates g where g.id = k.gate), null
      from unnest(grouped) k(gate)
     cross join lateral (select coalesce(sum(j.cost), 0) from {{schema}}.jobs j where j.status = 1 and j.group_id = k.gate) c(cost)
    union all
    select 3, k.gate, null, null, c.cost, g.served, null
      from unnest(metered) k(gate)
     cross join lateral (select q.name, q.served from {{schema}}.gates q where q.id = k.gate) g
     cross join lateral (select coalesce(sum(coalesce(j.cost, 1)), 0) from {{schema}}.jobs j
                          where j.status = 1 and j.metered and j.queue = g.name) c(cost)
    union all
    select 0, null, null, null, null, null,
           greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, coalesce(latest, 0) + 1);
end
$$;
