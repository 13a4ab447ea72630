import type { AccessToken, NewAccessToken, TokenCreation, TokenRevocation } from '../access-token.js';
import type { NewAuditEntry } from '../audit.js';
import type { Connection } from './connection.js';
import * as sql from './queries/tokens.js';
import type { Transaction } from './transaction.js';
import { noteAudit } from './workers.js';

type TokenRow = Omit<AccessToken, 'isValid'>;

export function createToken(tx: Transaction, token: NewAccessToken, audit: NewAuditEntry): TokenCreation {
  const { db, nowMs } = tx;
  const { id, secretHash, role, name, validForMs } = token;
  const expiresAt = validForMs === null ? null : nowMs + Math.round(validForMs);
  const isNew = db.run(sql.create, id, secretHash, role, name, nowMs, expiresAt) === 1;
  const isOurs = isNew || db.get<TokenRow>(sql.one, id)?.secretHash === secretHash;
  const outcome = isOurs ? 'done' : 'duplicate';
  noteAudit(tx, audit, outcome);
  return outcome;
}

export function token(db: Connection, nowMs: number, id: string): AccessToken | null {
  const row = db.get<TokenRow>(sql.one, id);
  return row === undefined ? null : tokenOf(row, nowMs);
}

export function tokens(db: Connection, nowMs: number): AccessToken[] {
  return db.all<TokenRow>(sql.list).map((row) => tokenOf(row, nowMs));
}

export function revokeToken(tx: Transaction, id: string, audit: NewAuditEntry): TokenRevocation {
  const { db, nowMs } = tx;
  const isRevoked = db.run(sql.revoke, nowMs, id) === 1;
  const isKnown = isRevoked || db.get<TokenRow>(sql.one, id) !== undefined;
  const outcome = isRevoked ? 'done' : isKnown ? 'already-revoked' : 'not-found';
  noteAudit(tx, audit, outcome);
  return outcome;
}

function tokenOf(row: TokenRow, nowMs: number): AccessToken {
  const { expiresAtMs, revokedAtMs } = row;
  return { ...row, isValid: revokedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs) };
}
