import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Jsonified } from '../../client/jsonified.js';
import { maxBodyBytes, problemType } from '../../protocol/http/http-terms.js';
import { problemShape } from '../../protocol/http/problem-shape.js';

/** An app whose routes are typed by their zod schemas. */
export type ApiApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What every route has: the limit of its body, beside that of the server. */
export const bodyLimit = maxBodyBytes;

/** A value as the other end will have it; it is made into JSON when it is sent. */
export const toldAs = <T>(value: T): Jsonified<T> => value as Jsonified<T>;

const meanings: Readonly<Record<number, string>> = {
  404: 'There is no such thing.',
  409: 'Its state does not allow it.',
  413: 'The body is too large.',
  415: 'The body is not said to be JSON.',
  416: 'There is no such part of it.',
  422: 'What was asked can’t be; `problems` lists everything that is wrong.',
  503: 'The hub or its database can’t at the moment; see `Retry-After`.',
};

/** The problems that a route can answer with, for the OpenAPI document. */
export function problems<const Statuses extends readonly number[]>(...statuses: Statuses) {
  const entry = (status: number) => ({
    description: meanings[status] ?? 'A problem.',
    content: { [problemType]: { schema: problemShape } },
  });
  return Object.fromEntries([...statuses, 503].map((status) => [status, entry(status)])) as Record<
    Statuses[number] | 503,
    { description: string; content: Record<typeof problemType, { schema: typeof problemShape }> }
  >;
}
