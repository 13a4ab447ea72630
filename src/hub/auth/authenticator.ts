import { sha256Hex } from '../../internal/hash.js';
import type { Logger } from '../../internal/logger.js';
import { parseToken } from '../../internal/token-text.js';
import type { AccessToken } from '../../storage/access-token.js';
import { addressKey } from './address-key.js';
import { FailedLogins } from './failed-logins.js';
import { type Identity, mayUse, type RouteRole } from './identity.js';
import type { Refusal } from './refusal.js';
import { isLoopbackAddress } from './request-host.js';
import {
  isSameText,
  isSignedBy,
  readSignedText,
  type SignedPurpose,
  type SignedText,
} from './signed-text.js';
import { TokenBook } from './token-book.js';

export type Authentication =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly refusal: Refusal };

/** A token that is not in the database: known to this hub alone, for what it starts itself. */
export type OwnToken = Pick<AccessToken, 'id' | 'secretHash' | 'role' | 'name'>;

export interface AuthenticatorOptions {
  readonly tokens: () => Promise<readonly AccessToken[]>;
  readonly logger: Logger;
  readonly own?: readonly OwnToken[] | undefined;
  /** In ms, of a clock that never goes back. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** Says who somebody is: by a token, by what was signed for one, or by coming from this machine while there are none. */
export class Authenticator {
  readonly #logger: Logger;
  readonly #book: TokenBook;
  readonly #failed: FailedLogins;
  readonly #own: ReadonlyMap<string, OwnToken>;

  constructor(options: AuthenticatorOptions) {
    const { tokens, logger, own = [], now = () => performance.now() } = options;
    this.#logger = logger;
    this.#book = new TokenBook({ read: tokens, now });
    this.#failed = new FailedLogins({ logger, now });
    this.#own = new Map(own.map((token) => [token.id, token]));
  }

  /** Whether a hub without tokens is what this is; then who comes from this machine may all. */
  isOpen(): Promise<boolean> {
    return this.#book.isEmpty();
  }

  /** By the text of a token. Wrong ones are slowed and logged. */
  async byToken(text: string, address: string): Promise<Authentication> {
    return this.guarded(async () => {
      const key = addressKey(address);
      const parts = parseToken(text);
      if (parts === null) {
        const detail =
          'this is no token of Millrace. Expected mr_, an id, _ and a secret, as "millrace token create" prints it';
        return { ok: false, refusal: await this.#failed.refuse({ address, key, id: null, detail }) };
      }
      const token = await this.tokenOf(parts.id, this.#failed.hasTries(key));
      // Compared also where there is none, so that time does not tell ids that exist from others.
      const isRight = isSameText(sha256Hex(parts.secret), token?.secretHash ?? sha256Hex('none'));
      if (token !== null && isRight) return { ok: true, identity: identityOf(token, address) };
      const detail =
        'this token is unknown, revoked or expired. See "millrace token list"; "millrace token create" makes a new one';
      return { ok: false, refusal: await this.#failed.refuse({ address, key, id: parts.id, detail }) };
    });
  }

  /** By a cookie or ticket. Null: it does not hold, or no longer. */
  async bySignedText(
    purpose: SignedPurpose,
    text: string,
    about: { address: string; nowMs: number },
  ): Promise<{ identity: Identity; signed: SignedText } | null> {
    const signed = readSignedText(text);
    if (signed === null || signed.untilMs <= about.nowMs) return null;
    const token = await this.tokenOf(signed.tokenId, this.#failed.hasTries(addressKey(about.address)));
    if (token === null || !isSignedBy(purpose, token.secretHash, text)) return null;
    return { identity: identityOf(token, about.address), signed };
  }

  /** Without any proof: who comes from this machine while there are no tokens. `isDirect`: not through a proxy. */
  async byAddress(address: string, isDirect: boolean): Promise<Authentication> {
    return this.guarded(async () => {
      if (isDirect && isLoopbackAddress(address) && (await this.isOpen())) {
        return { ok: true, identity: { actor: 'loopback', role: 'admin', tokenId: null, address } };
      }
      return { ok: false, refusal: tokenNeeded };
    });
  }

  /** Behind a proxy everybody has the address of this machine, so for them a hub without tokens is closed; null: it has some. */
  async refusalOfProxied(): Promise<Refusal | null> {
    try {
      return (await this.isOpen()) ? tokenNeeded : null;
    } catch (error) {
      return this.#unreadable(error);
    }
  }

  /** The token of this id, if it holds. */
  async tokenOf(id: string, mayReread = true): Promise<OwnToken | null> {
    return this.#own.get(id) ?? (await this.#book.find(id, mayReread));
  }

  /** Lets nobody in where the database that knows does not answer. */
  async guarded(work: () => Promise<Authentication>): Promise<Authentication> {
    try {
      return await work();
    } catch (error) {
      return { ok: false, refusal: this.#unreadable(error) };
    }
  }

  #unreadable(error: unknown): Refusal {
    this.#logger.warn('auth: the tokens cannot be read, so nobody is let in', { error });
    return unreadable;
  }
}

/** Whether the identity may do what is asked; null: it may. */
export function refusalOfRole({ role }: Identity, asked: RouteRole): Refusal | null {
  if (mayUse(role, asked)) return null;
  return {
    status: 403,
    code: 'forbidden',
    detail: `this needs a token of role ${asked}${asked === 'admin' ? '' : ' or admin'}; the one that was sent has role ${role}`,
  };
}

const tokenNeeded: Refusal = {
  status: 401,
  code: 'unauthorized',
  detail:
    'a token is needed: "Authorization: Bearer mr_…". "millrace token create --role read --name <who>" makes one',
};

const unreadable: Refusal = {
  status: 503,
  code: 'database-unreachable',
  detail: 'the database that keeps the tokens does not answer, so nobody can be let in. Try again soon',
  retryAfterS: 2,
};

function identityOf({ id, name, role }: OwnToken, address: string): Identity {
  return { actor: `${name} (${id})`, role, tokenId: id, address };
}
