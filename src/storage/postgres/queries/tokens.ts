import { nowMs, type Schema, type Statement } from '../statement.js';

const columns = `k.id, k.secret_hash, k.role, k.name, k.created_at, k.expires_at, k.revoked_at,
  k.revoked_at is null and (k.expires_at is null or t.now < k.expires_at)`;

export const tokenQueries = (s: Schema) =>
  ({
    /** No row = the id is taken. $1 id, $2 hash, $3 role, $4 name, $5 valid for ms or null, $6 offset */
    create: {
      name: 'millrace_create_token',
      text: `insert into ${s}.tokens (id, secret_hash, role, name, created_at, expires_at)
      select $1, $2, $3, $4, t.now, t.now + $5::bigint from (select ${nowMs('$6')} as now offset 0) t
      on conflict (id) do nothing returning 1`,
    },
    /** $1 id, $2 offset */
    one: {
      name: 'millrace_token',
      text: `select ${columns} from ${s}.tokens k, (select ${nowMs('$2')} as now offset 0) t where k.id = $1`,
    },
    /** $1 offset */
    list: {
      name: 'millrace_tokens',
      text: `select ${columns} from ${s}.tokens k, (select ${nowMs('$1')} as now offset 0) t
      order by k.created_at desc, k.id desc`,
    },
    /** $1 id, $2 offset */
    revoke: {
      name: 'millrace_revoke_token',
      text: `update ${s}.tokens set revoked_at = ${nowMs('$2')} where id = $1 and revoked_at is null returning 1`,
    },
  }) satisfies Record<string, Statement>;
