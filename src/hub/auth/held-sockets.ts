import type { Logger } from '../../internal/logger.js';
import type { Authenticator } from './authenticator.js';
import type { Identity } from './identity.js';

/*
 * Sockets and streams outlive the moment in which their token was checked, so while there are any their tokens are looked at twice
 * a second, and what lost its token is told to close: a revoked one stops working within two seconds. When the database
 * does not answer nothing is closed: that is no sign that a token was revoked.
 */

/** What was let in and stays; told once when it may no longer. */
export type OnEnd = (reason: string) => void;

const lookEveryMs = 500;
const afterFailureMs = 2_000;

export class HeldSockets {
  readonly #authenticator: Authenticator;
  readonly #logger: Logger;
  readonly #held = new Map<string | null, Set<OnEnd>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(authenticator: Authenticator, logger: Logger) {
    this.#authenticator = authenticator;
    this.#logger = logger;
  }

  /** How many sockets a token has open. */
  count(tokenId: string | null): number {
    return this.#held.get(tokenId)?.size ?? 0;
  }

  /** Watches over one socket until it is disposed of. */
  hold({ tokenId }: Pick<Identity, 'tokenId'>, onEnd: OnEnd): Disposable {
    const own: OnEnd = (reason) => onEnd(reason);
    const group = this.#held.get(tokenId) ?? new Set();
    this.#held.set(tokenId, group.add(own));
    this.#schedule(lookEveryMs);
    return {
      [Symbol.dispose]: () => {
        group.delete(own);
        if (group.size === 0 && this.#held.get(tokenId) === group) this.#held.delete(tokenId);
      },
    };
  }

  /** Looks no more. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #schedule(ms: number): void {
    if (this.#timer !== null || this.#held.size === 0) return;
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    const timer = this.#timer;
    let nextMs = lookEveryMs;
    try {
      for (const [tokenId, group] of this.#held) {
        const reason = await this.#reasonToEnd(tokenId);
        if (reason !== null) for (const onEnd of [...group]) onEnd(reason);
      }
    } catch (error) {
      nextMs = afterFailureMs;
      this.#logger.warn('auth: the tokens of open sockets cannot be checked, they stay open', { error });
    }
    // Closed meanwhile.
    if (this.#timer !== timer) return;
    this.#timer = null;
    this.#schedule(nextMs);
  }

  async #reasonToEnd(tokenId: string | null): Promise<string | null> {
    if (tokenId === null) return (await this.#authenticator.isOpen()) ? null : 'a token is needed by now';
    const isValid = (await this.#authenticator.tokenOf(tokenId)) !== null;
    return isValid ? null : 'the token was revoked or has expired';
  }
}
