import type { IncomingMessage, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../../internal/errors.js';
import type { Logger } from '../../internal/logger.js';
import type { SettingValues } from '../../internal/settings.js';
import type { AccessToken } from '../../storage/access-token.js';
import type { NewAuditEntry } from '../../storage/audit.js';
import { type Authentication, Authenticator, type OwnToken, refusalOfRole } from './authenticator.js';
import { Gate, isForwarded } from './gate.js';
import { registerGuard } from './guard.js';
import { HeldSockets, type OnEnd } from './held-sockets.js';
import { HubSessions } from './hub-sessions.js';
import type { Identity, RouteRole } from './identity.js';
import { registerLogin } from './login-routes.js';
import type { Refusal } from './refusal.js';
import { limitConnections } from './server-limits.js';
import { type TicketStorage, Tickets } from './tickets.js';

/*
 * Who may use a hub, in one place for its three doors: requests (`protect`), sockets (`checkUpgrade`, `browser`, `hold`)
 * and workers (`authenticate`). A hub without any token is open, to this machine only. See docs/operations/security.md.
 */

/** The part of storage that knows who may what. */
export interface AuthStorage extends TicketStorage {
  tokens(): Promise<readonly AccessToken[]>;
  noteAudit(entry: NewAuditEntry, result: string): Promise<void>;
}

export interface HubAuthOptions {
  readonly storage: AuthStorage;
  readonly settings: Pick<SettingValues, 'hubAllowedHosts' | 'hubRateLimit' | 'hubMaxConnections'>;
  readonly logger: Logger;
  /** What the hub listens on. */
  readonly host: string;
  /** Under what other hubs reach it; it answers under that name as well. */
  readonly advertiseUrl?: string | null | undefined;
  /** Tokens for what this process starts itself; they are in no database. */
  readonly own?: readonly OwnToken[] | undefined;
}

/** As the link refuses a handshake. */
export interface UpgradeRefusal extends Refusal {
  /** Its `detail`. */
  readonly reason: string;
}

export type LinkAuthentication =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly reason: string };

export class HubAuth implements Disposable {
  readonly authenticator: Authenticator;
  readonly tickets: Tickets;
  readonly #options: HubAuthOptions;
  readonly #gate: Gate;
  readonly #sessions: HubSessions;
  readonly #held: HeldSockets;
  readonly #now = (): number => performance.now();

  constructor(options: HubAuthOptions) {
    const { storage, settings, logger, host, own, advertiseUrl } = options;
    this.#options = options;
    const authenticator = new Authenticator({ tokens: () => storage.tokens(), logger, own });
    this.authenticator = authenticator;
    this.tickets = new Tickets(authenticator, storage);
    this.#sessions = new HubSessions(authenticator);
    this.#held = new HeldSockets(authenticator, logger);
    this.#gate = new Gate({
      listenHost: host,
      allowedHosts: [...settings.hubAllowedHosts, ...advertised(advertiseUrl)],
      perSecond: settings.hubRateLimit === 'none' ? null : settings.hubRateLimit,
      now: this.#now,
    });
  }

  /** Guards every route of `app` and adds those of browsers. To be called before any other route or hook. */
  protect(app: FastifyInstance): void {
    const { storage, settings } = this.#options;
    limitConnections(app.server as Server, settings.hubMaxConnections);
    registerGuard(app, {
      gate: this.#gate,
      authenticator: this.authenticator,
      sessions: this.#sessions,
      held: this.#held,
    });
    registerLogin(app, {
      authenticator: this.authenticator,
      sessions: this.#sessions,
      tickets: this.tickets,
      noteAudit: (entry, result) => storage.noteAudit(entry, result),
      now: this.#now,
    });
  }

  /** Why a request for a socket is refused before its sender says who it is; null: it may go on. */
  async checkUpgrade(request: IncomingMessage): Promise<UpgradeRefusal | null> {
    const isProxied = isForwarded(request.headers);
    const refusal =
      this.#gate.refusalOf(request) ?? (isProxied ? await this.authenticator.refusalOfProxied() : null);
    return refusal === null ? null : { ...refusal, reason: refusal.detail };
  }

  /**
   * Who a worker is, by the token of its hello. It needs the role `worker` or `admin`; a hub without tokens takes all of
   * this machine.
   *
   * @throws MillraceError `database-unreachable` while nobody can know
   */
  async authenticate(token: string | undefined, address: string): Promise<LinkAuthentication> {
    const known =
      token === undefined
        ? await this.authenticator.byAddress(address, true)
        : await this.authenticator.byToken(token, address);
    const admitted = this.#admitted(known, 'worker');
    if (admitted.ok) return admitted;
    const { status, code, detail } = admitted.refusal;
    if (status === 503) throw new MillraceError(code, detail);
    return { ok: false, reason: detail };
  }

  /** Who a browser that asks for a socket is: by its ticket, or by coming from this machine while there are no tokens. */
  async browser(ticket: string | null, request: IncomingMessage): Promise<Authentication> {
    const address = request.socket.remoteAddress ?? '';
    const known = await this.authenticator.guarded(async () => {
      if (ticket === null) return this.authenticator.byAddress(address, !isForwarded(request.headers));
      const identity = await this.tickets.redeem(ticket, address);
      return identity === null ? { ok: false, refusal: usedTicket } : { ok: true, identity };
    });
    return this.#admitted(known, 'read');
  }

  /** Tells once when the token of an open socket no longer holds. */
  hold(identity: Identity, onEnd: OnEnd): Disposable {
    return this.#held.hold(identity, onEnd);
  }

  [Symbol.dispose](): void {
    this.#held.close();
  }

  #admitted(known: Authentication, role: RouteRole): Authentication {
    if (!known.ok) return known;
    const { identity } = known;
    const refusal = refusalOfRole(identity, role);
    if (refusal !== null) return { ok: false, refusal };
    const limit = this.#options.settings.hubMaxConnections;
    if (identity.tokenId === null || this.#held.count(identity.tokenId) < limit) return known;
    return { ok: false, refusal: tooManySockets(limit) };
  }
}

const usedTicket: Refusal = {
  status: 401,
  code: 'unauthorized',
  detail: 'this ticket is unknown, was used, or is older than 30 s. POST /tickets gives a new one',
};

function tooManySockets(limit: number): Refusal {
  return {
    status: 429,
    code: 'rate-limited',
    detail: `more than ${limit} sockets are open with this token. HUB_MAX_CONNECTIONS moves the limit`,
    retryAfterS: 5,
  };
}

function advertised(url: string | null | undefined): string[] {
  return url === null || url === undefined || !URL.canParse(url) ? [] : [new URL(url).host];
}
