import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/*
 * What a browser is given in place of a token: `<id>.<until>.<nonce>.<mac>`, an HMAC-SHA-256 in base64url over the
 * purpose and the rest. The key is made of the stored hash of the token of that id, so every hub over the database can
 * check it without a table of sessions, and it ends with its token. See ADR 24.
 */

/** For what a text was signed; one is never taken for the other. */
export type SignedPurpose = 'session' | 'ticket';

export interface SignedText {
  /** Of the token it stands for. */
  readonly tokenId: string;
  /** Epoch ms. */
  readonly untilMs: number;
  /** 128 bits of chance. */
  readonly nonce: string;
}

const pattern = /^([a-z0-9]{12})\.(\d{13,15})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

/** A new text of this purpose for a token. */
export function signText(
  purpose: SignedPurpose,
  secretHash: string,
  about: Omit<SignedText, 'nonce'>,
): string {
  const body = `${about.tokenId}.${about.untilMs}.${randomBytes(16).toString('base64url')}`;
  return `${body}.${macOf(purpose, secretHash, body)}`;
}

/** What a text claims to be; null for what is none. Nothing is checked yet. */
export function readSignedText(text: string): SignedText | null {
  const [, tokenId, untilMs, nonce] = pattern.exec(text) ?? [];
  if (tokenId === undefined || untilMs === undefined || nonce === undefined) return null;
  return { tokenId, untilMs: Number(untilMs), nonce };
}

/** Whether the text was signed for this purpose and token, in constant time. */
export function isSignedBy(purpose: SignedPurpose, secretHash: string, text: string): boolean {
  const end = text.lastIndexOf('.');
  return isSameText(text.slice(end + 1), macOf(purpose, secretHash, text.slice(0, end)));
}

/** Compares in a time that tells nothing of where two texts differ. */
export function isSameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function macOf(purpose: SignedPurpose, secretHash: string, body: string): string {
  const key = createHmac('sha256', secretHash).update(`millrace ${purpose} v1`).digest();
  return createHmac('sha256', key).update(body).digest('base64url');
}
