import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { containsToken } from '../../internal/token-text.js';
import { addressKey } from './address-key.js';
import { RateLimit } from './rate-limit.js';
import type { Refusal } from './refusal.js';
import { type HostRules, isHostAllowed, isOriginAllowed } from './request-host.js';

/*
 * What a request is asked before anybody asks who sent it, in this order: is it meant for this hub (Host), does it carry
 * a token where it doesn't belong (address), is its sender within bounds, and, where something changes or a socket is
 * opened, is it the doing of a page of somebody else (Origin) and of the one kind of content that a form can't send.
 */

export interface GateOptions extends HostRules {
  /** Requests a second of an address, or with a token; null: any number. */
  readonly perSecond: number | null;
  readonly now: () => number;
}

const readingMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

export class Gate {
  readonly #options: GateOptions;
  readonly #limit: RateLimit | null;

  constructor(options: GateOptions) {
    this.#options = options;
    const { perSecond, now } = options;
    this.#limit = perSecond === null ? null : new RateLimit({ perSecond, burst: 2 * perSecond, now });
  }

  /** Null: it may go on. */
  refusalOf(request: IncomingMessage): Refusal | null {
    const { headers, url = '', method = 'GET' } = request;
    const address = request.socket.remoteAddress ?? '';
    if (!isHostAllowed(headers.host, this.#options)) return foreignHost;
    if (hasToken(url)) return tokenInUrl;
    const tooMany = this.refusalOfRate(`address ${addressKey(address)}`);
    if (tooMany !== null) return tooMany;
    const isUpgrade = headers.upgrade !== undefined;
    if (readingMethods.has(method) && !isUpgrade) return null;
    const { origin, host } = headers;
    const fetchSite = headers['sec-fetch-site'];
    const facts = { origin, host, fetchSite: typeof fetchSite === 'string' ? fetchSite : undefined };
    if (!isOriginAllowed(facts, this.#options)) return foreignOrigin;
    if (isUpgrade || isJson(headers['content-type'])) return null;
    return method === 'DELETE' && !hasBody(headers) ? null : notJson;
  }

  /** Counts one request under a key, which is of an address or of a token. */
  refusalOfRate(key: string): Refusal | null {
    const waitMs = this.#limit?.take(key) ?? 0;
    if (waitMs === 0) return null;
    return {
      status: 429,
      code: 'rate-limited',
      detail: `more than ${this.#options.perSecond} requests a second came from this ${key.startsWith('token') ? 'token' : 'address'}. Try again later`,
      retryAfterS: Math.ceil(waitMs / 1000),
    };
  }
}

/** Whether a request came through a proxy, so that its address says nothing of who sent it. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined);
}

function hasToken(url: string): boolean {
  if (containsToken(url)) return true;
  try {
    return containsToken(decodeURIComponent(url)) || /[?&](access_)?token=/i.test(url);
  } catch {
    // What can't be decoded is refused by the router.
    return /[?&](access_)?token=/i.test(url);
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function isJson(type: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(type ?? '');
}

const foreignHost: Refusal = {
  status: 421,
  code: 'host-refused',
  detail:
    'this hub does not answer under the name in the Host header. If it is meant to, start the hub with that name in HUB_ALLOWED_HOSTS',
};

const tokenInUrl: Refusal = {
  status: 400,
  code: 'token-in-url',
  detail:
    'a token never goes into an address, where logs and histories keep it. Revoke it if it was one, and send the next as "Authorization: Bearer mr_…"',
};

const foreignOrigin: Refusal = {
  status: 403,
  code: 'origin-refused',
  detail:
    'a page of another site may neither change anything here nor open a socket. If the page is of this hub, add its name to HUB_ALLOWED_HOSTS',
};

const notJson: Refusal = {
  status: 415,
  code: 'content-type-unsupported',
  detail:
    'a request that changes something must have the header Content-Type: application/json, also one without a body',
};
