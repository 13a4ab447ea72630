import { randomBytes, randomInt } from 'node:crypto';
import { sha256Hex } from './hash.js';

/*
 * A token is `mr_<id>_<secret>`. The id is public: it is listed, logged and revoked by. The secret is 256 bits of
 * chance as hex and is kept by nobody but its owner; the database holds its SHA-256. A fast hash will do: there is
 * nothing to guess in 256 bits, unlike in a password.
 */

const idLetters = 'abcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 12;
const secretBytes = 32;
const tokenPattern = /^mr_([a-z0-9]{12})_([0-9a-f]{64})$/;
/** Wider than a token, so that one with a slip of the pen, or cut short, is taken for one as well. */
const tokenLikePattern = /mr_([a-z0-9]{12})_[A-Za-z0-9_-]+/g;

export interface TokenParts {
  readonly id: string;
  readonly secret: string;
}

export interface NewToken {
  readonly id: string;
  /** What is kept of the secret. */
  readonly secretHash: string;
  /** The token itself. */
  readonly text: string;
}

/** A token that nobody had before. */
export function newToken(): NewToken {
  const id = Array.from({ length: idLength }, () => idLetters[randomInt(idLetters.length)]).join('');
  const secret = randomBytes(secretBytes).toString('hex');
  return { id, secretHash: sha256Hex(secret), text: `mr_${id}_${secret}` };
}

/** The parts of a token; null for what is none. */
export function parseToken(text: string): TokenParts | null {
  const [, id, secret] = tokenPattern.exec(text) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

/** Whether a text is the public part of a token. */
export function isTokenId(text: string): boolean {
  return /^[a-z0-9]{12}$/.test(text);
}

/** Whether a text has a token in it, or what was meant as one. */
export function containsToken(text: string): boolean {
  return text.search(tokenLikePattern) !== -1;
}

/** The text with the secret of every token in it replaced by `***`. */
export function maskTokens(text: string): string {
  return text.includes('mr_') ? text.replace(tokenLikePattern, 'mr_$1_***') : text;
}
