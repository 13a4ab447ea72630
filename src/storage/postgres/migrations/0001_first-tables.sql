-- Jobs that live (hot) and jobs that ended (history), with what belongs to them.
-- oldest-code: 1
--
-- {{schema}} stands for the quoted name of the schema. Times are epoch milliseconds of the server's clock.
-- status: 0 pending, 1 processing, 2 blocked, 3 completed, 4 buried, 5 cancelled.
-- line: 0 ordinary, -1 must run alone. rank: minus priority, so that every order is ascending.
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
