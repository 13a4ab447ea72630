-- The tables of the queue on MySQL and MariaDB.
-- oldest-code: 1
--
-- Where the id of a job stands is its status: ready = pending, leases = processing, waiting = blocked, finals = the rest.
-- jobs (the body) is written once, but for edits; its line is null for an ordinary job; its version is that of the payload's shape; the road of a job that succeeds at once is jobs + ready, then leases, then finals.
-- Whatever else happened to a job (failures, deaths, a new due time) stands in marks; flag 1 says that there is a row.
-- Every statement can be repeated: DDL commits by itself here, so a migration may stop half-way and is run again.

create table if not exists `millrace_schema` (
  version int unsigned not null,
  oldest_code int unsigned not null,
  applied_at bigint not null,
  primary key (version)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Small numbers for queue names. `lanes` counts up whenever a row of `millrace_lanes` was added for the queue.
create table if not exists `millrace_queues` (
  id int unsigned not null auto_increment,
  name varbinary(764) not null,
  paused tinyint not null default 0,
  lanes int unsigned not null default 0,
  primary key (id),
  unique key by_name (name)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Small numbers for job names and worker ids.
create table if not exists `millrace_names` (
  id int unsigned not null auto_increment,
  name varbinary(764) not null,
  primary key (id),
  unique key by_name (name)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Which lines, ranks and names a queue has had: the claim reads one bounded range for each. Those of the ordinary line and
-- of jobs that run alone stay for ever; those of other lines are written with each job and go when nothing stands in them.
create table if not exists `millrace_lanes` (
  queue_id int unsigned not null,
  line int not null,
  rnk smallint not null,
  name_id int unsigned not null,
  made_at bigint not null default 0,
  primary key (queue_id, line, rnk, name_id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table if not exists `millrace_jobs` (
  id binary(16) not null,
  queue_id int unsigned not null,
  name_id int unsigned not null,
  rnk smallint not null,
  due bigint not null,
  created_at bigint not null,
  max_attempts int unsigned not null,
  retention bigint null,
  unique_scope tinyint null,
  unique_key varbinary(764) null,
  version int unsigned not null default 1,
  payload mediumtext not null,
  line int null,
  primary key (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- rnk = -priority. line 0 = ordinary, -1 = must run alone, else one of `millrace_lines`.
-- flags: 1 = has marks, 2 = others wait for it, 4 = has a slot (only of leases).
create table if not exists `millrace_ready` (
  queue_id int unsigned not null,
  line int not null,
  rnk smallint not null,
  due bigint not null,
  id binary(16) not null,
  name_id int unsigned not null,
  flags tinyint unsigned not null,
  primary key (queue_id, line, rnk, due, id),
  key by_name (queue_id, line, name_id, rnk, due, id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- stop: 0 = none, 1 = cancel, 2 = bury, 3 = delete. The first 8 bytes of a token are the incarnation.
create table if not exists `millrace_leases` (
  token binary(16) not null,
  id binary(16) not null,
  queue_id int unsigned not null,
  line int not null,
  rnk smallint not null,
  due bigint not null,
  name_id int unsigned not null,
  flags tinyint unsigned not null,
  stop tinyint not null,
  started tinyint not null,
  worker_id int unsigned not null,
  claimed_at bigint not null,
  lease_until bigint not null,
  primary key (token, id),
  unique key by_id (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table if not exists `millrace_waiting` (
  id binary(16) not null,
  queue_id int unsigned not null,
  name_id int unsigned not null,
  rnk smallint not null,
  due bigint not null,
  flags tinyint unsigned not null,
  primary key (id),
  key by_queue (queue_id, id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- status: 3 = completed, 4 = buried, 5 = cancelled (`sql/status-codes.ts`). token: whose settlement ended it. outcome: 1 = skipped.
-- purge_at: when the row goes if it has a retention of its own (retained = 1), else when it ended.
create table if not exists `millrace_finals` (
  id binary(16) not null,
  queue_id int unsigned not null,
  name_id int unsigned not null,
  status tinyint not null,
  flags tinyint unsigned not null,
  retained tinyint not null,
  purge_at bigint not null,
  due bigint not null,
  claimed_at bigint null,
  finished_at bigint not null,
  worker_id int unsigned null,
  token binary(16) null,
  outcome tinyint not null,
  reason mediumtext null,
  result mediumtext null,
  primary key (id),
  key by_queue (queue_id, status, id),
  key by_purge (status, retained, purge_at, id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- line and due are those of the job whenever there is a row. spent: it was claimed or final once.
create table if not exists `millrace_marks` (
  id binary(16) not null,
  attempts int unsigned not null default 0,
  deaths int unsigned not null default 0,
  lapses int unsigned not null default 0,
  line int not null default 0,
  due bigint not null,
  spent tinyint not null default 0,
  claimed_at bigint null,
  worker_id int unsigned null,
  reason mediumtext null,
  errors mediumtext null,
  primary key (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Jobs by tag, newest first; kept as long as the job.
create table if not exists `millrace_tags` (
  tag varbinary(400) not null,
  job_id binary(16) not null,
  primary key (tag, job_id),
  key by_job (job_id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- child waits for parent until met. policy when the parent fails: 0 = run, 1 = bury, 2 = cancel.
create table if not exists `millrace_edges` (
  parent binary(16) not null,
  child binary(16) not null,
  policy tinyint not null,
  met tinyint not null,
  primary key (parent, child),
  key by_child (child, met)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- k: `u` and a unique key, or `i` and an idempotency key. A row may outlast its hold (see `unique-keys.ts`).
create table if not exists `millrace_keys` (
  k varbinary(768) not null,
  job_id binary(16) not null,
  scope tinyint not null,
  until_ms bigint null,
  input_hash binary(32) null,
  primary key (k),
  key by_job (job_id),
  key by_until (until_ms)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table if not exists `millrace_counts` (
  queue_id int unsigned not null,
  status tinyint not null,
  n bigint unsigned not null,
  primary key (queue_id, status)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- One row per settled batch, queue and status; folded into counts by a duty.
create table if not exists `millrace_deltas` (
  id bigint unsigned not null auto_increment,
  queue_id int unsigned not null,
  status tinyint not null,
  n int unsigned not null,
  primary key (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Ordered by claim, then by seq. kind: 0 = log, 1 = progress. level: 0 = debug … 3 = error.
create table if not exists `millrace_log` (
  job_id binary(16) not null,
  claimed_at bigint not null,
  token binary(16) not null,
  seq int unsigned not null,
  at_ms bigint not null,
  kind tinyint not null,
  level tinyint not null,
  line_text text not null,
  primary key (job_id, claimed_at, token, seq),
  key by_time (at_ms)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table if not exists `millrace_workers` (
  id varbinary(764) not null,
  incarnation binary(8) not null,
  report mediumtext not null,
  admin_state varbinary(16) not null,
  started_at bigint not null,
  heartbeat_at bigint not null,
  gone tinyint not null,
  recycle_asked tinyint not null,
  -- Only kept for its admin state.
  forgotten tinyint not null,
  primary key (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table if not exists `millrace_audit` (
  at_ms bigint not null,
  id binary(16) not null,
  actor text not null,
  action text not null,
  target text not null,
  source text not null,
  result text not null,
  primary key (at_ms, id),
  unique key by_id (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

create table if not exists `millrace_duties` (
  name varbinary(764) not null,
  holder varbinary(764) not null,
  until_ms bigint not null,
  primary key (name)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- What claims lock before they count what runs. kind: 0 = group and key, 1 = group, 2 = queue. k: hash of what it stands for.
-- served: grows with each job that was claimed behind it; the key of a group with the smallest goes next.
create table if not exists `millrace_gates` (
  id int unsigned not null auto_increment,
  k binary(32) not null,
  kind tinyint not null,
  group_name varbinary(764) null,
  key_name varbinary(764) null,
  served bigint not null default 0,
  primary key (id),
  unique key by_k (k)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- A group, key, maximum, cost and labels that jobs agree in. k: hash of these. requires: JSON array, null when empty.
create table if not exists `millrace_lines` (
  id int not null auto_increment,
  k binary(32) not null,
  key_gate int unsigned null,
  group_gate int unsigned null,
  max_running int unsigned null,
  cost int unsigned not null,
  requires mediumtext null,
  named_at bigint not null,
  primary key (id),
  unique key by_k (k),
  key by_key (key_gate),
  key by_group (group_gate),
  key by_time (named_at)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- The jobs of each line, whatever their status: a line goes when it has none.
create table if not exists `millrace_members` (
  line int not null,
  job_id binary(16) not null,
  primary key (line, job_id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Leases that count against a limit or budget, by gate; written and removed together with the lease.
create table if not exists `millrace_slots` (
  id binary(16) not null,
  queue_gate int unsigned null,
  key_gate int unsigned null,
  group_gate int unsigned null,
  cost int unsigned not null,
  max_running int unsigned null,
  primary key (id),
  key by_queue (queue_gate, cost),
  key by_key (key_gate, cost, max_running),
  key by_group (group_gate, cost)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- What attempts of handlers took, by the minute; one row per note, folded by a duty.
create table if not exists `millrace_profiles` (
  id bigint unsigned not null auto_increment,
  name_id int unsigned not null,
  minute bigint not null,
  n int unsigned not null,
  total_us bigint not null,
  max_rss bigint null,
  primary key (id),
  key by_name (name_id, minute),
  key by_minute (minute)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
