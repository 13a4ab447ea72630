import type { Authenticator } from './authenticator.js';
import { readCookie, sessionCookie } from './cookie-header.js';
import type { Identity } from './identity.js';
import { signText } from './signed-text.js';

/** How long a browser stays logged in, in ms. */
export const sessionMs = 12 * 3_600_000;

const cookieName = 'millrace_session';

/** What a browser holds in place of its token: a cookie that scripts can't read and other sites can't send. */
export class HubSessions {
  readonly #authenticator: Authenticator;

  constructor(authenticator: Authenticator) {
    this.#authenticator = authenticator;
  }

  /** The Set-Cookie header for who has shown a token. `isSecure`: the browser came by https. */
  async begin({ tokenId }: Identity, isSecure: boolean): Promise<string | null> {
    const token = tokenId === null ? null : await this.#authenticator.tokenOf(tokenId);
    if (token === null) return null;
    const value = signText('session', token.secretHash, {
      tokenId: token.id,
      untilMs: Date.now() + sessionMs,
    });
    return sessionCookie(cookieName, value, { maxAgeS: sessionMs / 1000, isSecure });
  }

  /** The Set-Cookie header that takes the cookie away. */
  end(isSecure: boolean): string {
    return sessionCookie(cookieName, '', { maxAgeS: 0, isSecure });
  }

  /** Who a Cookie header is of; null: there is none that holds. */
  async identify(cookieHeader: string | undefined, address: string): Promise<Identity | null> {
    const value = readCookie(cookieHeader, cookieName);
    if (value === null || value === '') return null;
    const known = await this.#authenticator.bySignedText('session', value, { address, nowMs: Date.now() });
    return known?.identity ?? null;
  }
}
