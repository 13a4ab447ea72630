import { withDeadline } from '../../internal/deadline.js';
import { uuidv7 } from '../../internal/uuid.js';
import type { Authenticator } from './authenticator.js';
import type { Identity } from './identity.js';
import { signText } from './signed-text.js';

/*
 * A browser can't send a header with a request for a socket, and nothing that lasts belongs into an address. So it asks
 * for a ticket first: signed for its token, good for 30 s and for one use. Used means: one hub has taken the singleton
 * task of its number in the database, which no other can take before the ticket has run out. The row goes with the hub's
 * next look at what it has taken.
 */

/** How long a ticket is good, in ms. */
export const ticketMs = 30_000;

/** Beyond the life of a ticket, for hubs whose clocks differ. */
const takenForMs = 10 * 60_000;
const storageDeadlineMs = 5_000;

/** The part of storage that makes a use the only one. */
export interface TicketStorage {
  takeDuty(name: string, holder: string, ttlMs: number): Promise<boolean>;
  releaseDuty(name: string, holder: string): Promise<void>;
}

interface Taken {
  readonly name: string;
  readonly holder: string;
  readonly untilMs: number;
}

export class Tickets {
  readonly #authenticator: Authenticator;
  readonly #storage: TicketStorage;
  #taken: Taken[] = [];

  constructor(authenticator: Authenticator, storage: TicketStorage) {
    this.#authenticator = authenticator;
    this.#storage = storage;
  }

  /** A ticket for who has a token; null: a hub without tokens gives none and asks for none. */
  async issue({ tokenId }: Identity): Promise<string | null> {
    const token = tokenId === null ? null : await this.#authenticator.tokenOf(tokenId);
    if (token === null) return null;
    return signText('ticket', token.secretHash, { tokenId: token.id, untilMs: Date.now() + ticketMs });
  }

  /** Who it was given to, the first time it is shown; null ever after, on every hub. */
  async redeem(ticket: string, address: string): Promise<Identity | null> {
    const nowMs = Date.now();
    await this.#forgetTaken(nowMs);
    const known = await this.#authenticator.bySignedText('ticket', ticket, { address, nowMs });
    if (known === null) return null;
    const taken = { name: `ticket:${known.signed.nonce}`, holder: uuidv7(), untilMs: nowMs + takenForMs };
    const isFirst = await this.#bounded(this.#storage.takeDuty(taken.name, taken.holder, takenForMs));
    if (!isFirst) return null;
    this.#taken.push(taken);
    return known.identity;
  }

  async #forgetTaken(nowMs: number): Promise<void> {
    const over = this.#taken.filter(({ untilMs }) => untilMs <= nowMs);
    this.#taken = this.#taken.filter(({ untilMs }) => untilMs > nowMs);
    for (const { name, holder } of over) await this.#bounded(this.#storage.releaseDuty(name, holder));
  }

  #bounded<T>(work: Promise<T>): Promise<T> {
    return withDeadline(work, { ms: storageDeadlineMs, name: 'using a ticket' });
  }
}
