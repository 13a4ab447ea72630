const columns = `id, secret_hash as secretHash, role, name, created_at as createdAtMs, expires_at as expiresAtMs,
  revoked_at as revokedAtMs`;

/** By primary key; nothing where the id is taken. */
export const create = `
  insert into tokens (id, secret_hash, role, name, created_at, expires_at) values (?, ?, ?, ?, ?, ?)
  on conflict (id) do nothing`;

/** By primary key. */
export const one = `select ${columns} from tokens where id = ?`;

/** The whole table: few rows. */
export const list = `select ${columns} from tokens order by created_at desc, id desc`;

/** By primary key. */
export const revoke = 'update tokens set revoked_at = ? where id = ? and revoked_at is null';
