import type { TokenRole } from '../../storage/access-token.js';

/** Who asks, and from where. */
export interface Identity {
  /** For the audit: name and id of the token, or `loopback`. */
  readonly actor: string;
  readonly role: TokenRole;
  /** Null on a hub without tokens. */
  readonly tokenId: string | null;
  readonly address: string;
}

/** What a route asks for; `open`: nothing, as of health. A route that says nothing is for admins. */
export type RouteRole = 'open' | TokenRole;

/** Whether a role may use what asks for another: an admin may all, who submits may read. */
export function mayUse(role: TokenRole, asked: RouteRole): boolean {
  if (asked === 'open' || role === 'admin' || role === asked) return true;
  return role === 'submit' && asked === 'read';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which role a token needs for this route. @default 'admin' */
    role?: RouteRole;
  }

  interface FastifyRequest {
    /** Null on an open route. */
    identity: Identity | null;
  }
}
