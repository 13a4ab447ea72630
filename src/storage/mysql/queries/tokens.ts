import type { NewAccessToken } from '../../access-token.js';
import { hexDigits, hexText, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Nothing where the id is taken. Index: primary. */
export function insertToken(t: Tables, token: NewAccessToken, now: Sql): Sql {
  const { id, secretHash, role, name, validForMs } = token;
  const expiresAt = validForMs === null ? sql`null` : sql`${now} + ${Math.round(validForMs)}`;
  return sql`insert into ${t.tokens} (id, secret_hash, role, name, created_at, expires_at)
    values (${hexText(id)}, ${hexDigits(secretHash, 32)}, ${hexText(role)}, ${hexText(name)}, ${now}, ${expiresAt})
    on duplicate key update id = ${t.tokens}.id`;
}

const columns = sql`id, secret_hash, role, name, created_at, expires_at, revoked_at`;

/** Index: primary. */
export function readToken(t: Tables, id: string, now: Sql): Sql {
  return sql`select ${columns}, ${now} from ${t.tokens} where id = ${hexText(id)}`;
}

/** The whole table: few rows. */
export function readTokens(t: Tables, now: Sql): Sql {
  return sql`select ${columns}, ${now} from ${t.tokens} order by created_at desc, id desc`;
}

/** Index: primary. */
export function markRevoked(t: Tables, id: string, now: Sql): Sql {
  return sql`update ${t.tokens} set revoked_at = ${now} where id = ${hexText(id)} and revoked_at is null`;
}
