import { setTimeout as pause } from 'node:timers/promises';
import { withDeadline } from '../../internal/deadline.js';
import type { AccessToken } from '../../storage/access-token.js';

/*
 * The tokens as the database has them, read about once a second and only when somebody asks: so a revoked one is
 * refused within two seconds on every hub, and a thousand requests a second cost one read. A token that the book does not
 * have may be younger than the book, so it is read again, however many strangers knock, at most ten times a second.
 * When the database can't be read the answer is an error: unknown is neither "valid" nor "there are no tokens".
 */

export interface TokenBookOptions {
  readonly read: () => Promise<readonly AccessToken[]>;
  /** In ms, of a clock that never goes back. */
  readonly now: () => number;
}

interface Page {
  readonly begunAtMs: number;
  readonly byId: ReadonlyMap<string, AccessToken>;
}

const maxAgeMs = 800;
const pauseBetweenReadsMs = 100;
const readDeadlineMs = 5_000;

export class TokenBook {
  readonly #options: TokenBookOptions;
  #page: Page | null = null;
  #reading: Promise<Page> | null = null;

  constructor(options: TokenBookOptions) {
    this.#options = options;
  }

  /** Whether there is any, also one that no longer holds: a hub that had tokens never becomes open again by itself. */
  async isEmpty(): Promise<boolean> {
    return (await this.#pageOf(this.#options.now() - maxAgeMs)).byId.size === 0;
  }

  /** The token of this id, if it holds now. `mayReread`: whether a stranger is worth a look at the database. */
  async find(id: string, mayReread = true): Promise<AccessToken | null> {
    const now = this.#options.now();
    const page = await this.#pageOf(now - maxAgeMs);
    const token = page.byId.get(id) ?? (mayReread ? (await this.#pageOf(now)).byId.get(id) : undefined);
    return token?.isValid === true ? token : null;
  }

  /** A page whose reading began at this time or later. */
  async #pageOf(sinceMs: number): Promise<Page> {
    for (;;) {
      if (this.#page !== null && this.#page.begunAtMs >= sinceMs) return this.#page;
      const page = await (this.#reading ?? this.#read());
      if (page.begunAtMs >= sinceMs) return page;
    }
  }

  #read(): Promise<Page> {
    const sinceMs = this.#page === null ? pauseBetweenReadsMs : this.#options.now() - this.#page.begunAtMs;
    this.#reading = this.#load(Math.max(pauseBetweenReadsMs - sinceMs, 0));
    return this.#reading;
  }

  async #load(waitMs: number): Promise<Page> {
    try {
      if (waitMs > 0) await pause(waitMs);
      const begunAtMs = this.#options.now();
      const tokens = await withDeadline(this.#options.read(), {
        ms: readDeadlineMs,
        name: 'reading the tokens',
      });
      this.#page = { begunAtMs, byId: new Map(tokens.map((token) => [token.id, token])) };
      return this.#page;
    } finally {
      this.#reading = null;
    }
  }
}
