import type { FastifyContextConfig } from 'fastify';
import type { RouteRole } from '../../protocol/http/http-terms.js';

/** The `config` of a route: the role that the guard asks for. */
export function needs(role: RouteRole): FastifyContextConfig {
  return { role } as FastifyContextConfig;
}
