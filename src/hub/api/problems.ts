/*
 * Errors as they go over HTTP: every one is problem+json with a code of the registry. What is not a `MillraceError` and
 * no refusal of fastify's own is told without its words, which may show what is nobody's business; the log has them.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, errorCodes } from '../../internal/error-codes.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';
import { describeFailure } from '../../internal/failure.js';
import type { Logger } from '../../internal/logger.js';
import { maxBodyBytes, problemType } from '../../protocol/http/http-terms.js';
import type { ProblemEntry, ProblemShape } from '../../protocol/http/problem-shape.js';

/** Codes with a status of their own; others are 503 where waiting may cure them, and 500 where not. */
const statusByCode: Readonly<Partial<Record<ErrorCode, number>>> = {
  'json-invalid': 400,
  'job-not-found': 404,
  'worker-not-found': 404,
  'file-not-found': 404,
  'route-unknown': 404,
  'method-not-allowed': 405,
  'idempotency-conflict': 409,
  'job-already-final': 409,
  'transition-illegal': 409,
  'unique-key-held': 409,
  'worker-alive': 409,
  'payload-too-large': 413,
  'request-too-large': 413,
  'content-type-unsupported': 415,
  'range-unsatisfiable': 416,
  'request-invalid': 422,
  'option-unknown': 422,
  'option-invalid': 422,
  'payload-invalid': 422,
  'queue-name-invalid': 422,
  'job-name-invalid': 422,
  'job-name-unknown': 422,
  'cursor-invalid': 422,
  'parent-not-found': 422,
  'dependency-cycle': 422,
  'target-refused': 422,
  'handler-not-inline': 422,
  closed: 503,
};

const retryAfterS = 2;
const unreadable = 400;

/** The status with which a code goes over HTTP. */
export function statusOf(error: MillraceError): number {
  const given = error.details['status'];
  if (error.code === 'request-invalid' && given === unreadable) return unreadable;
  return statusByCode[error.code] ?? (error.retryable ? 503 : 500);
}

/** Turns whatever was thrown into what is answered. */
export function problemOf(thrown: unknown, logger: Logger): ProblemShape {
  const error = isMillraceError(thrown) ? thrown : (fromFastify(thrown) ?? hidden(thrown, logger));
  const status = statusOf(error);
  if (status === 500 && isMillraceError(thrown)) {
    logger.error('a request failed', { error: describeFailure(thrown) });
  }
  const { problems, status: _status, ...details } = error.details;
  return {
    type: `urn:millrace:error:${error.code}`,
    title: errorCodes[error.code]?.meaning ?? error.code,
    status,
    detail: error.message,
    code: error.code,
    retryable: error.retryable,
    ...(status === 422 || status === unreadable ? { problems: entriesOf(problems, error.message) } : {}),
    ...(Object.keys(details).length === 0 ? {} : { details: plain(details) }),
  };
}

/** Answers with a problem. */
export function sendProblem(reply: FastifyReply, problem: ProblemShape): FastifyReply {
  if (problem.status === 503) reply.header('retry-after', String(retryAfterS));
  return reply.code(problem.status).type(problemType).send(problem);
}

/** For `app.setErrorHandler`. */
export function errorHandler(logger: Logger) {
  return (error: unknown, _request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendProblem(reply, problemOf(error, logger));
}

/** Rules of options tell their problems as texts, shapes as entries. */
function entriesOf(problems: unknown, message: string): ProblemEntry[] {
  if (!Array.isArray(problems)) return [{ path: '', message }];
  return problems.map((problem: unknown) =>
    typeof problem === 'object' && problem !== null && 'message' in problem
      ? (problem as ProblemEntry)
      : { path: '', message: String(problem) },
  );
}

/** Details hold what offended, which may be anything. */
function plain(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(details).flatMap(([key, value]) => {
    try {
      const text = JSON.stringify(value);
      return text === undefined || text.length > 64 * 1024 ? [] : [[key, JSON.parse(text) as unknown]];
    } catch {
      // What JSON can't tell is in the text of the error as well as it can be.
      return [];
    }
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** Refusals of fastify and its parsers, by their codes and statuses. */
function fromFastify(thrown: unknown): MillraceError | null {
  const { code, statusCode, message } = (thrown ?? {}) as Record<string, unknown>;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499) return null;
  const text = typeof message === 'string' ? message : 'the request cannot be read';
  if (statusCode === 413) {
    return new MillraceError('request-too-large', 'the body of the request is larger than 2 MB');
  }
  if (statusCode === 415 || code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return notJson();
  return new MillraceError('request-invalid', `the request cannot be read: ${text}`, {
    details: { status: unreadable },
  });
}

/** What a write without JSON is told. */
export function notJson(): MillraceError {
  return new MillraceError(
    'content-type-unsupported',
    'a request that changes something must have the header Content-Type: application/json, also one without a body',
  );
}

function hidden(thrown: unknown, logger: Logger): MillraceError {
  logger.error('a request failed in a way that should not be', { error: describeFailure(thrown) });
  return new MillraceError('internal', 'something went wrong in the hub; its log says what', {
    cause: thrown,
  });
}

/** Options of an app that `registerApi` is for: what fastify refuses before any route is a problem as well. */
export function apiServerOptions(logger: Logger): {
  frameworkErrors: ReturnType<typeof errorHandler>;
  bodyLimit: number;
} {
  return { frameworkErrors: errorHandler(logger), bodyLimit: maxBodyBytes };
}
