-- Jobs, what they wait for, their keys and log; queues, workers and duties.
-- oldest-code: 1

-- A queue gets its number when first named, and keeps it.
create table queues (
  id integer primary key,
  name text not null unique,
  paused integer not null default 0
) strict;
create index queues_paused on queues (id) where paused = 1;

-- A kind is what a worker knows or doesn't know: a job name in a queue. Jobs that stand in lines are kinds of their own,
-- by the labels that they require. Never deleted, so processes may cache it.
-- requires: a JSON array; empty for ordinary jobs
create table kinds (
  id integer primary key,
  queue integer not null,
  name text not null,
  requires text not null default '',
  unique (queue, name, requires)
) strict;

-- A gate is a key of a group (or the group without one): what a maximum counts. served: when a claim last took from it.
-- Numbers of gates and lines are never given twice, so processes may cache what they mean.
create table gates (
  id integer primary key autoincrement,
  grp text not null,
  key text,
  served integer not null default 0
) strict;
create index gates_key on gates (grp, key);

-- A line is what its jobs share beside their kind; a claim passes over it as a whole.
-- requires: a JSON array of labels · named_at: when a dispatch last named it, to the hour
create table lines (
  id integer primary key autoincrement,
  gate integer,
  max integer,
  cost integer not null,
  requires text not null,
  named_at integer not null
) strict;
create index lines_terms on lines (gate, max, cost, requires);
create index lines_named on lines (named_at);

-- status: 0 pending, 1 blocked, 2 processing, 3 completed, 4 buried, 5 cancelled
-- line: 0 ordinary, else a line's number; for what must run alone its bitwise complement: -1, -2, …
-- rank: minus the priority
-- tied: what a plain settle must not pass over; 1 others wait for it, 2 it holds an active key, 4 a stop request
-- token: while processing the lease, once final the token whose settlement ended it
-- scope: 1 waiting, 2 active, 3 period · stop: 1 cancel, 2 bury, 3 delete · policy: 1 bury, 2 cancel, 3 run
-- metered: 1 it was claimed under a budget of its queue
-- version: of the shape of the payload
-- What may be long stands last, so that the rest is read without it.
create table jobs (
  row integer primary key,
  id blob not null,
  status integer not null default 0,
  queue integer not null,
  kind integer not null,
  line integer not null default 0,
  rank integer not null,
  due_at integer not null,
  attempts integer not null default 0,
  max_attempts integer not null,
  deaths integer not null default 0,
  lapses integer not null default 0,
  leases integer not null default 0,
  tied integer not null default 0,
  waits integer not null default 0,
  policy integer not null default 0,
  scope integer not null default 0,
  started integer not null default 0,
  metered integer not null default 0,
  stop integer,
  token blob,
  lease_until integer,
  claimed_at integer,
  worker text,
  created_at integer not null,
  finished_at integer,
  retention_ms integer,
  unique_key text,
  outcome text,
  reason text,
  version integer not null default 1,
  payload text not null,
  errors text,
  result text
) strict;

create unique index jobs_id on jobs (id);
-- The claim: one bounded range for each kind, line and rank.
create index jobs_claim on jobs (queue, kind, line, rank, due_at, id) where status = 0;
-- An incarnation's leases are a range of tokens.
create index jobs_lease on jobs (token) where status = 2;
-- What runs under limits and budgets.
create index jobs_metered on jobs (queue, line, metered) where status = 2 and (metered = 1 or line not in (0, -1));
-- Whether a line is still in use.
create index jobs_line on jobs (line) where line not in (0, -1);
create index jobs_blocked on jobs (queue) where status = 1;
create index jobs_listed on jobs (status, id) where status not in (0, 2);
create index jobs_ended on jobs (status, finished_at) where status >= 3 and retention_ms is null;
create index jobs_ended_kept on jobs (status, retention_ms, finished_at) where status >= 3 and retention_ms is not null;

-- Payloads so long that rewriting them with their job at each transition would cost more than looking them up here.
-- jobs.payload is then empty, which no JSON text is.
create table payloads (
  job integer primary key,
  payload text not null
) strict;

-- Jobs by tag, newest first; row is that of the job.
create table tags (
  tag text not null,
  id blob not null,
  row integer not null,
  primary key (tag, id)
) strict, without rowid;
create index tags_row on tags (row, tag);

-- open: 1 until the parent has ended. Rows stay until one of the two jobs is gone.
create table edges (
  child integer not null,
  parent integer not null,
  open integer not null,
  primary key (child, parent)
) strict, without rowid;
create index edges_parent on edges (parent, child);

-- until: end of a period; null where an event frees the key.
create table unique_keys (
  key text primary key,
  job blob not null,
  until integer
) strict, without rowid;
create index unique_keys_until on unique_keys (until) where until is not null;

create table idempotency_keys (
  key text primary key,
  input_hash text not null,
  job integer not null
) strict, without rowid;
create index idempotency_keys_job on idempotency_keys (job);

-- How many jobs of a queue have ended, ever.
create table ended_counts (
  queue integer not null,
  status integer not null,
  n integer not null,
  primary key (queue, status)
) strict, without rowid;

create table job_log (
  job integer not null,
  lease integer not null,
  seq integer not null,
  bytes integer not null,
  at integer not null,
  kind text not null,
  level text not null,
  text text not null
) strict;
create unique index job_log_line on job_log (job, lease, seq);
create index job_log_at on job_log (at);

-- What ended attempts of a handler took, by the minute of the epoch.
create table profiles (
  name text not null,
  minute integer not null,
  n integer not null,
  total_ms real not null,
  max_rss integer,
  primary key (name, minute)
) strict, without rowid;
create index profiles_minute on profiles (minute);

create table workers (
  id text primary key,
  incarnation text not null,
  admin_state text not null default 'active',
  started_at integer not null,
  heartbeat_at integer not null,
  gone integer not null default 0,
  recycle_asked integer not null default 0,
  -- Only kept for its admin state.
  forgotten integer not null default 0,
  report text not null
) strict, without rowid;
create index workers_heartbeat on workers (heartbeat_at);

create table audit (
  at integer not null,
  id text not null unique,
  actor text not null,
  action text not null,
  target text not null,
  source text not null,
  result text not null,
  primary key (at, id)
) strict, without rowid;

create table duties (
  name text primary key,
  holder text not null,
  until integer not null
) strict, without rowid;
