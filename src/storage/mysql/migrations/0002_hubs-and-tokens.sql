-- What hubs need: their own rows, access tokens, and which connection of a worker is the newest.
-- oldest-code: 1
--
-- MySQL has no "add column if not exists": what is there already is asked of the dictionary, and then nothing is done.
-- connection_epoch: counts registrations of the id. disconnected_at: since when the hub has no socket of it.

set @millrace_ddl = if((select count(*) from information_schema.columns where table_schema = database()
    and table_name = replace('`millrace_workers`', char(96), '') and column_name = 'connection_epoch') = 0,
  'alter table `millrace_workers` add column connection_epoch bigint not null default 0, add column disconnected_at bigint null', 'do 0');
prepare millrace_ddl from @millrace_ddl;
execute millrace_ddl;
deallocate prepare millrace_ddl;

create table if not exists `millrace_hubs` (
  id varbinary(764) not null,
  started_at bigint not null,
  heartbeat_at bigint not null,
  report mediumtext not null,
  primary key (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;

-- secret_hash: SHA-256 of the secret part.
create table if not exists `millrace_tokens` (
  id varbinary(764) not null,
  secret_hash binary(32) not null,
  role varbinary(16) not null,
  name text not null,
  created_at bigint not null,
  expires_at bigint null,
  revoked_at bigint null,
  primary key (id)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
