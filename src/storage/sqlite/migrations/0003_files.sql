-- Files of jobs, by what is known of them; their bytes stand elsewhere, under their hash.
-- oldest-code: 1

-- job: its id, not its row, which may be given again. A sweep removes those whose job is gone.
create table files (
  id blob primary key,
  job blob not null,
  size integer not null,
  created_at integer not null,
  sha256 blob not null,
  name text not null,
  type text not null
) strict, without rowid;
create unique index files_name on files (job, name);
create index files_content on files (sha256);

-- Which store of bytes belongs to this database: one row, from the first file on.
create table file_store (
  one integer primary key check (one = 1),
  id text not null
) strict;
