-- Files of jobs, by what is known of them; their bytes stand elsewhere, under their hash.
-- oldest-code: 1

-- A sweep removes those whose job is gone.
create table if not exists `millrace_files` (
  id binary(16) not null,
  job_id binary(16) not null,
  size bigint not null,
  created_at bigint not null,
  sha256 binary(32) not null,
  name varbinary(400) not null,
  type varbinary(400) not null,
  primary key (id),
  unique key by_name (job_id, name),
  key by_content (sha256)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- Which store of bytes belongs to this database: one row, from the first file on.
create table if not exists `millrace_filestore` (
  one tinyint not null,
  id varbinary(64) not null,
  primary key (one)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
