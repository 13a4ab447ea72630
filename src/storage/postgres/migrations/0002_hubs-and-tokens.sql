-- What hubs need: their own rows, access tokens, and which connection of a worker is the newest.
-- oldest-code: 1

-- connection_epoch: counts registrations of the id. disconnected_at: since when the hub has no socket of it.
alter table {{schema}}.workers add column connection_epoch bigint not null default 0, add column disconnected_at bigint;

-- A hub asks every second whether operators want something of what runs: none of it costs one probe. Its predicate is
-- written so that no statement but that one can be planned over it.
create index jobs_stopped on {{schema}}.jobs (token) where status + 0 = 1 and stop_request > 0;

create table {{schema}}.hubs (
  id text collate "C" not null,
  started_at bigint not null,
  heartbeat_at bigint not null,
  report text not null,
  constraint hubs_id primary key (id)
);

-- secret_hash: SHA-256 of the secret part, hex.
create table {{schema}}.tokens (
  id text collate "C" not null,
  secret_hash text not null,
  role text not null,
  name text not null,
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint,
  constraint tokens_id primary key (id)
);
