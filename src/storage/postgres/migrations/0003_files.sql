-- Files of jobs, by what is known of them; their bytes stand elsewhere, under their hash.
-- oldest-code: 1

-- A sweep removes those whose job is gone.
create table {{schema}}.files (
  id uuid not null,
  job uuid not null,
  size bigint not null,
  created_at bigint not null,
  sha256 text collate "C" not null,
  name text collate "C" not null,
  type text not null,
  constraint files_id primary key (id),
  constraint files_name unique (job, name)
);
create index files_content on {{schema}}.files (sha256);

-- Which store of bytes belongs to this database: one row, from the first file on.
create table {{schema}}.file_store (
  one smallint not null,
  id text not null,
  constraint file_store_one primary key (one)
);
