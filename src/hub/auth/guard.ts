import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authentication, Authenticator } from './authenticator.js';
import { refusalOfRole } from './authenticator.js';
import { type Gate, isForwarded } from './gate.js';
import type { HeldSockets } from './held-sockets.js';
import type { HubSessions } from './hub-sessions.js';
import { type Refusal, sendRefusal } from './refusal.js';
import { securityHeaders } from './security-headers.js';

export interface GuardParts {
  readonly gate: Gate;
  readonly authenticator: Authenticator;
  readonly sessions: HubSessions;
  readonly held: HeldSockets;
}

/**
 * Stands before every route of `app`, also those that do not exist. What a route needs it says by
 * `config: { role: 'read' }`; one that says nothing is for admins. Who came through is `request.identity`.
 */
export function registerGuard(app: FastifyInstance, parts: GuardParts): void {
  app.decorateRequest('identity', null);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders);
    const refusal = parts.gate.refusalOf(request.raw) ?? (await admit(request, parts));
    if (refusal !== null) return refused(reply, refusal);
    endWithToken(request, reply, parts.held);
    return undefined;
  });
}

/** An answer that goes on and on, as a stream does, ends with the token it was asked by. */
function endWithToken(request: FastifyRequest, reply: FastifyReply, held: HeldSockets): void {
  if (request.identity === null) return;
  const holding = held.hold(request.identity, () => request.raw.destroy());
  reply.raw.once('close', () => holding[Symbol.dispose]());
}

/** Says who it is, and whether that one may; null: it may. */
async function admit(request: FastifyRequest, parts: GuardParts): Promise<Refusal | null> {
  const { role = 'admin' } = request.routeOptions.config;
  // What does not exist is no secret.
  if (role === 'open' || request.is404) return null;
  const known = await authenticate(request, parts);
  if (!known.ok) return known.refusal;
  const { identity } = known;
  request.identity = identity;
  const tooMany = identity.tokenId === null ? null : parts.gate.refusalOfRate(`token ${identity.tokenId}`);
  return tooMany ?? refusalOfRole(identity, role);
}

async function authenticate(request: FastifyRequest, parts: GuardParts): Promise<Authentication> {
  const { authenticator, sessions } = parts;
  const { authorization, cookie } = request.headers;
  const address = request.ip;
  if (authorization !== undefined) {
    const [, token = ''] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
    return authenticator.byToken(token, address);
  }
  return authenticator.guarded(async () => {
    const identity = await sessions.identify(cookie, address);
    if (identity !== null) return { ok: true, identity };
    return authenticator.byAddress(address, !isForwarded(request.headers));
  });
}

/** The body of a refused request is not read, so the connection can't be used again. */
function refused(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (!['GET', 'HEAD'].includes(reply.request.method)) reply.header('connection', 'close');
  return sendRefusal(reply, refusal);
}
