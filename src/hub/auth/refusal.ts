import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type ErrorCode, errorCodes } from '../../internal/error-codes.js';

/** Why a request or connection is turned away, in the words it is answered with. */
export interface Refusal {
  /** Of HTTP. */
  readonly status: 400 | 401 | 403 | 415 | 421 | 429 | 503;
  readonly code: ErrorCode;
  /** What happened and what to do, for a person. Never has a token in it. */
  readonly detail: string;
  /** When it is worth to try again, in whole seconds. */
  readonly retryAfterS?: number;
}

const statusTexts: Readonly<Record<Refusal['status'], string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};

/** Answers a request with a refusal, as problem+json. */
export function sendRefusal(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply.code(refusal.status).headers(headersOf(refusal)).send(bodyOf(refusal));
}

/** Answers a request for a socket with a refusal, and ends the connection. */
export function refuseUpgrade(socket: Duplex, refusal: Refusal): void {
  const body = bodyOf(refusal);
  const headers = {
    ...headersOf(refusal),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  // Whoever has gone away meanwhile needs no answer.
  socket.on('error', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${refusal.status} ${statusTexts[refusal.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  );
}

function headersOf({ status, retryAfterS }: Refusal): Record<string, string> {
  return {
    'content-type': 'application/problem+json; charset=utf-8',
    ...(status === 401 ? { 'www-authenticate': 'Bearer realm="millrace"' } : {}),
    ...(retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }),
  };
}

function bodyOf({ status, code, detail }: Refusal): string {
  const { meaning, retryable } = errorCodes[code];
  return JSON.stringify({
    type: `urn:millrace:error:${code}`,
    title: meaning,
    status,
    detail,
    code,
    retryable,
  });
}
