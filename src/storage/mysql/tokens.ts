import type {
  AccessToken,
  NewAccessToken,
  TokenCreation,
  TokenRevocation,
  TokenRole,
} from '../access-token.js';
import type { NewAuditEntry } from '../audit.js';
import type { Context } from './context.js';
import { insertToken, markRevoked, readToken, readTokens } from './queries/tokens.js';
import { writeAudit } from './queries/workers.js';

export function createToken(
  context: Context,
  token: NewAccessToken,
  audit: NewAuditEntry,
): Promise<TokenCreation> {
  const { t, side } = context;
  return side.transaction('creating a token', async (tx) => {
    await tx.send(insertToken(t, token, context.now()));
    const [result] = await tx.send(readToken(t, token.id, context.now()));
    const isOurs = tokenOf(result?.rows[0] ?? []).secretHash === token.secretHash.toLowerCase();
    const outcome = isOurs ? 'done' : 'duplicate';
    await tx.send(writeAudit(t, { ...audit, result: outcome }, context.now()));
    return outcome;
  });
}

export async function token(context: Context, id: string): Promise<AccessToken | null> {
  const [result] = await context.side.send('reading a token', readToken(context.t, id, context.now()));
  const row = result?.rows[0];
  return row === undefined ? null : tokenOf(row);
}

export async function tokens(context: Context): Promise<AccessToken[]> {
  const [result] = await context.side.send('reading tokens', readTokens(context.t, context.now()));
  return (result?.rows ?? []).map(tokenOf);
}

export function revokeToken(context: Context, id: string, audit: NewAuditEntry): Promise<TokenRevocation> {
  const { t, side } = context;
  return side.transaction('revoking a token', async (tx) => {
    const [revoked] = await tx.send(markRevoked(t, id, context.now()));
    const [found] = await tx.send(readToken(t, id, context.now()));
    const isKnown = found?.rows[0] !== undefined;
    const outcome = revoked?.changed === 1 ? 'done' : isKnown ? 'already-revoked' : 'not-found';
    await tx.send(writeAudit(t, { ...audit, result: outcome }, context.now()));
    return outcome;
  });
}

function tokenOf(row: readonly unknown[]): AccessToken {
  const [id, secretHash, role, name, createdAt, expiresAt, revokedAt, now] = row;
  const isExpired = expiresAt !== null && (expiresAt as number) <= Number(now);
  return {
    id: String(id),
    secretHash: (secretHash as Buffer).toString('hex'),
    role: String(role) as TokenRole,
    name: name as string,
    createdAtMs: createdAt as number,
    expiresAtMs: expiresAt as number | null,
    revokedAtMs: revokedAt as number | null,
    isValid: revokedAt === null && !isExpired,
  };
}
