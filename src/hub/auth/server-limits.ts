import type { Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyServerOptions } from 'fastify';
import { maxBodyBytes } from '../../protocol/http/http-terms.js';
import { addressKey } from './address-key.js';

/*
 * What one client can hold of a hub: so much memory for its headers and its body, and so much time to send them. Who
 * sends a byte now and then (slow loris) is cut when the time is over, whatever it has sent by then.
 */

export interface ServerLimits {
  /** All headers of a request, from its first byte. @default 10 000 */
  readonly headersTimeoutMs?: number | undefined;
  /** A whole request. @default 30 000 */
  readonly requestTimeoutMs?: number | undefined;
}

const maxHeaderBytes = 16 * 1024;
/** Longer than load balancers keep theirs (60 s), so that it is never the hub that closes first. */
const keepAliveMs = 65_000;

/** What the server of a hub is made with. */
export function serverOptions(limits: ServerLimits = {}): FastifyServerOptions & { http: ServerOptions } {
  const { headersTimeoutMs = 10_000, requestTimeoutMs = 30_000 } = limits;
  return {
    bodyLimit: maxBodyBytes,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    trustProxy: false,
    http: {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Timeouts are looked at that often; the default is 30 s.
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
    },
  };
}

/** Answers connections beyond so many of one address with 429 and ends them, whatever they were to ask. */
export function limitConnections(server: Server, perAddress: number): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const key = addressKey(socket.remoteAddress ?? '');
    const count = (open.get(key) ?? 0) + 1;
    open.set(key, count);
    socket.once('close', () => {
      const left = (open.get(key) ?? 1) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    });
    if (count > perAddress) answerTooMany(socket);
  });
}

function answerTooMany(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.end(
    'HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
  );
}
