/** What a token may do. `admin` may everything; `submit` dispatches and reads; `read` reads; `worker` links a worker. */
export const tokenRoles = ['admin', 'submit', 'read', 'worker'] as const;

export type TokenRole = (typeof tokenRoles)[number];

/** A token as it is kept: never itself, only the SHA-256 of its secret part. */
export interface NewAccessToken {
  /** The public part: 12 lower-case letters and digits. */
  readonly id: string;
  /** SHA-256 of the secret part, 64 hex characters. */
  readonly secretHash: string;
  readonly role: TokenRole;
  /** For people: 1 to 100 characters. */
  readonly name: string;
  /** How long it holds from now; null: until it is revoked. */
  readonly validForMs: number | null;
}

export interface AccessToken extends Omit<NewAccessToken, 'validForMs'> {
  readonly createdAtMs: number;
  /** Epoch ms by the database's clock; null: never. */
  readonly expiresAtMs: number | null;
  /** Epoch ms; null: it holds. */
  readonly revokedAtMs: number | null;
  /** It can be used now: not revoked, not expired, by the database's clock. */
  readonly isValid: boolean;
}

export type TokenCreation = 'done' | 'duplicate';
export type TokenRevocation = 'done' | 'not-found' | 'already-revoked';
