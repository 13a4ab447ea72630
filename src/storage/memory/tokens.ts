import type { AccessToken, NewAccessToken, TokenCreation, TokenRevocation } from '../access-token.js';
import type { NewAuditEntry } from '../audit.js';
import type { MemoryState } from './state.js';
import { noteAudit } from './workers.js';

export function createToken(state: MemoryState, token: NewAccessToken, audit: NewAuditEntry): TokenCreation {
  const known = state.tokens.get(token.id);
  const outcome = known === undefined || known.secretHash === token.secretHash ? 'done' : 'duplicate';
  if (known === undefined) state.tokens.set(token.id, created(token, state.now()));
  noteAudit(state, audit, outcome);
  return outcome;
}

function created({ validForMs, ...token }: NewAccessToken, nowMs: number): Omit<AccessToken, 'isValid'> {
  const expiresAtMs = validForMs === null ? null : nowMs + Math.round(validForMs);
  return { ...token, createdAtMs: nowMs, expiresAtMs, revokedAtMs: null };
}

export function token(state: MemoryState, id: string): AccessToken | null {
  const known = state.tokens.get(id);
  return known === undefined ? null : withValidity(known, state.now());
}

export function tokens(state: MemoryState): AccessToken[] {
  return [...state.tokens.values()]
    .map((known) => withValidity(known, state.now()))
    .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
}

export function revokeToken(state: MemoryState, id: string, audit: NewAuditEntry): TokenRevocation {
  const known = state.tokens.get(id);
  const outcome = known === undefined ? 'not-found' : known.revokedAtMs === null ? 'done' : 'already-revoked';
  if (known !== undefined && outcome === 'done') state.tokens.set(id, { ...known, revokedAtMs: state.now() });
  noteAudit(state, audit, outcome);
  return outcome;
}

function withValidity(known: Omit<AccessToken, 'isValid'>, nowMs: number): AccessToken {
  const { expiresAtMs, revokedAtMs } = known;
  return { ...known, isValid: revokedAtMs === null && (expiresAtMs === null || nowMs < expiresAtMs) };
}
