import { describeValue } from '../internal/describe-value.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import { isTokenId, newToken } from '../internal/token-text.js';
import { uuidv7 } from '../internal/uuid.js';
import { type AccessToken, type TokenRole, tokenRoles } from '../storage/access-token.js';
import type { NewAuditEntry } from '../storage/audit.js';
import type { Storage } from '../storage/storage.js';
import { type OperatorOptions, resolveOperator } from './fleet-control.js';
import { OptionProblems } from './option-problems.js';

export interface CreateTokenOptions extends OperatorOptions {
  /** What it may do: `admin` all, `submit` dispatch and read, `read` read, `worker` link a worker. */
  readonly role: TokenRole;
  /** For people: 1 to 100 characters. */
  readonly name: string;
  /** How long it holds. @default until it is revoked */
  readonly expires?: Duration | undefined;
}

/** A token, as it is told once and never again. */
export interface CreatedToken {
  /** The public part, by which it is listed and revoked. */
  readonly id: string;
  readonly name: string;
  readonly role: TokenRole;
  /** `mr_<id>_<secret>`: what is sent. */
  readonly token: string;
}

/** What is known of a token; of its secret nothing. */
export interface TokenListing {
  readonly id: string;
  readonly name: string;
  readonly role: TokenRole;
  readonly createdAt: Date;
  /** Null: it holds until it is revoked. */
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** It can be used now. */
  readonly isValid: boolean;
}

export type RevokeOutcome = 'done' | 'not-found' | 'already-revoked';

const day = 86_400_000;
const longestName = 100;

/** Tokens of hubs: made, listed and revoked by who has the database. Each deed stands in the audit. */
export class AccessTokens {
  readonly #storage: () => Promise<Storage>;

  constructor(storage: () => Promise<Storage>) {
    this.#storage = storage;
  }

  async create(options: CreateTokenOptions): Promise<CreatedToken> {
    const { role, name, validForMs, actor, source } = resolveCreate(options);
    const { id, secretHash, text } = newToken();
    const entry = entryOf('token.create', id, { actor, source });
    const outcome = await (await this.#storage()).createToken(
      { id, secretHash, role, name, validForMs },
      entry,
    );
    if (outcome === 'done') return { id, name, role, token: text };
    throw new MillraceError('internal', 'a new token has the id of another', { details: { id } });
  }

  async list(): Promise<TokenListing[]> {
    return (await (await this.#storage()).tokens()).map(listingOf);
  }

  async revoke(id: string, options: OperatorOptions = {}): Promise<RevokeOutcome> {
    const operator = resolveOperator(options);
    if (typeof id !== 'string' || !isTokenId(id)) {
      throw new MillraceError(
        'option-invalid',
        `token id: expected the 12 letters and digits between mr_ and the second _, got ${describeValue(id)}`,
      );
    }
    return (await this.#storage()).revokeToken(id, entryOf('token.revoke', id, operator));
  }
}

function entryOf(action: string, target: string, by: { actor: string; source: string }): NewAuditEntry {
  return { id: uuidv7(), action, target, ...by };
}

function listingOf(token: AccessToken): TokenListing {
  const { id, name, role, createdAtMs, expiresAtMs, revokedAtMs, isValid } = token;
  return {
    id,
    name,
    role,
    createdAt: new Date(createdAtMs),
    expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs),
    revokedAt: revokedAtMs === null ? null : new Date(revokedAtMs),
    isValid,
  };
}

function resolveCreate(options: unknown) {
  const problems = new OptionProblems('options of a token');
  const { role, name, expires, ...operator } = problems.takeObject(options);
  if (!tokenRoles.includes(role as TokenRole)) {
    problems.add(`option "role": expected one of ${tokenRoles.join(', ')}, got ${describeValue(role)}`);
  }
  // A name is shown in logs and tables: nothing that a terminal would act upon.
  if (
    typeof name !== 'string' ||
    name.length > longestName ||
    !/^[^\p{C}]*[^\p{C}\s][^\p{C}]*$/u.test(name)
  ) {
    problems.add(
      `option "name": expected 1 to ${longestName} characters that can be shown, got ${describeValue(name)}`,
    );
  }
  const validForMs = expires === undefined ? null : problems.attempt(() => parseExpires(expires), null);
  problems.throwIfAny();
  const by = resolveOperator(operator);
  return { role: role as TokenRole, name: name as string, validForMs, ...by };
}

function parseExpires(expires: unknown): number {
  return parseDuration(expires, { name: 'option "expires"', min: 1_000, max: 36_500 * day });
}
