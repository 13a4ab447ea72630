import type { FastifyContextConfig } from 'fastify';
import type { RouteRole } from '../auth/identity.js';

/** The `config` of a route: the role that the guard asks for. */
export function needs(role: Exclude<RouteRole, 'worker'>): FastifyContextConfig {
  return { role };
}
