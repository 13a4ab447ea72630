/*
 * What holds for every request: bodies are JSON and say so, shapes are checked by zod with every problem at once, answers
 * are JSON, and whatever has no route is a problem as well.
 */
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { MillraceError } from '../../internal/errors.js';
import { notJson } from './problems.js';

const writing: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
const mostProblems = 50;

/** Refuses a write that does not say it is JSON, before its body is read: a form of another site can't send that. */
export function requireJson({ method, headers }: FastifyRequest): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!writing.has(method) && !hasBody) return;
  const type = headers['content-type'] ?? '';
  if (/^application\/json\s*(;|$)/i.test(type.trim())) return;
  throw notJson();
}

/** JSON, where no body at all stands for none. */
export function parseJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else void parse(request, body as string, done);
  });
}

/** Checks a part of a request by its zod schema. */
export const checkShape: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (given: unknown) => {
    const checked = schema.safeParse(given);
    if (checked.success) return { value: checked.data };
    return { error: shapeError(checked.error, httpPart ?? 'request') };
  };
};

/** Answers are made by typed code: to check each again would cost and could only turn a good answer into a 500. */
export const tellAsJson = () => (data: unknown) => JSON.stringify(data);

const partNames: Readonly<Record<string, string>> = {
  body: 'the body',
  querystring: 'the query',
  params: 'the address',
  headers: 'the headers',
};

function shapeError({ issues }: z.ZodError, part: string): MillraceError {
  const problems = issues.slice(0, mostProblems).map((issue) => ({
    path: issue.path.map(String).join('.'),
    message: issue.message,
  }));
  const [first] = problems;
  const where = partNames[part] ?? part;
  const at = first === undefined || first.path === '' ? '' : ` at "${first.path}"`;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  return new MillraceError(
    'request-invalid',
    `${where} of the request does not fit${at}: ${first?.message ?? 'unknown'}${more}`,
    { details: { problems, part } },
  );
}
