import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../internal/errors.js';

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there. Stop it, or choose another port',
  EACCES: 'this user may not listen there. Choose a port above 1023',
  EADDRNOTAVAIL: 'this machine has no such address. Choose one of its own, or 127.0.0.1',
  ENOTFOUND: 'no address of that name is known. Choose one of this machine, or 127.0.0.1',
};

/** @throws MillraceError `hub-not-listening` */
export async function listenOn(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const reason = reasons[code] ?? (cause instanceof Error ? cause.message : String(cause));
    throw new MillraceError('hub-not-listening', `the hub can’t listen on ${host}, port ${port}: ${reason}`, {
      details: { host, port },
      cause,
    });
  }
}
