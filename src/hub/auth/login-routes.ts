import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isTokenId, parseToken } from '../../internal/token-text.js';
import { uuidv7 } from '../../internal/uuid.js';
import type { NewAuditEntry } from '../../storage/audit.js';
import type { Authenticator } from './authenticator.js';
import type { HubSessions } from './hub-sessions.js';
import type { Identity } from './identity.js';
import { RateLimit } from './rate-limit.js';
import { type Refusal, sendRefusal } from './refusal.js';
import { type Tickets, ticketMs } from './tickets.js';

export interface LoginParts {
  readonly authenticator: Authenticator;
  readonly sessions: HubSessions;
  readonly tickets: Tickets;
  readonly noteAudit: (entry: NewAuditEntry, result: string) => Promise<void>;
  readonly now: () => number;
}

const loginBody = z.object({ token: z.string().max(200) });

const badLogin: Refusal = {
  status: 401,
  code: 'unauthorized',
  detail: 'expected a body {"token": "mr_…"}',
};

/**
 * For browsers: `POST /login {token}` answers with a cookie, `POST /logout` takes it away, `POST /tickets` gives what
 * opens one socket.
 */
export function registerLogin(app: FastifyInstance, parts: LoginParts): void {
  const { authenticator, sessions, tickets } = parts;
  // Strangers must not fill the audit with their attempts.
  const refusedEntries = new RateLimit({ perSecond: 1, burst: 20, now: parts.now });

  app.post('/login', { config: { role: 'open' } }, async (request, reply) => {
    const body = loginBody.safeParse(request.body);
    if (!body.success) return sendRefusal(reply, badLogin);
    const { token } = body.data;
    const known = await authenticator.byToken(token, request.ip);
    if (!known.ok) {
      if (refusedEntries.take('all') === 0)
        await note(request, parts, { target: shown(token), result: 'refused' });
      return sendRefusal(reply, known.refusal);
    }
    const { identity } = known;
    const cookie = await sessions.begin(identity, isSecure(request));
    if (cookie === null) return sendRefusal(reply, badLogin);
    await note(request, parts, { identity, target: identity.tokenId ?? '', result: 'done' });
    return reply.header('set-cookie', cookie).send({ actor: identity.actor, role: identity.role });
  });

  app.post('/logout', { config: { role: 'open' } }, async (request, reply) =>
    reply
      .header('set-cookie', sessions.end(isSecure(request)))
      .code(204)
      .send(),
  );

  app.post('/tickets', { config: { role: 'read' } }, async (request, reply) => {
    const ticket = request.identity === null ? null : await tickets.issue(request.identity);
    return reply.code(201).send({ ticket, expiresInMs: ticketMs });
  });
}

async function note(
  request: FastifyRequest,
  { noteAudit }: LoginParts,
  about: { identity?: Identity; target: string; result: string },
): Promise<void> {
  const actor = about.identity?.actor ?? 'unknown';
  await noteAudit(
    { id: uuidv7(), actor, action: 'login', target: about.target, source: request.ip },
    about.result,
  );
}

/** Of a token only what is public. */
function shown(token: string): string {
  const id = parseToken(token)?.id ?? '';
  return isTokenId(id) ? id : 'no token';
}

/** Only a browser says so, and only of the page it shows, so a proxy need not be believed. */
function isSecure({ headers }: FastifyRequest): boolean {
  return headers.origin?.startsWith('https://') ?? false;
}
