import type { FastifyRequest } from 'fastify';

/** Who asks, and from where. */
export interface Operator {
  readonly actor: string;
  readonly source: string;
}

/** The identity that the guard found; without one whoever is at that address. */
export function operatorOf(request: FastifyRequest): Operator {
  const { identity } = request as { identity?: { actor?: string; address?: string } | null };
  return { actor: identity?.actor ?? 'anonymous', source: identity?.address ?? request.ip };
}
