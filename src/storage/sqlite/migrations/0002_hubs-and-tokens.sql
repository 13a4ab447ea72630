-- What hubs need: their own rows, access tokens, and which connection of a worker is the newest.
-- oldest-code: 1

-- connection_epoch: counts registrations of the id. disconnected_at: since when the hub has no socket of it.
alter table workers add column connection_epoch integer not null default 0;
alter table workers add column disconnected_at integer;

create table hubs (
  id text primary key,
  started_at integer not null,
  heartbeat_at integer not null,
  report text not null
) strict, without rowid;

-- secret_hash: SHA-256 of the secret part, hex.
create table tokens (
  id text primary key,
  secret_hash text not null,
  role text not null,
  name text not null,
  created_at integer not null,
  expires_at integer,
  revoked_at integer
) strict, without rowid;
