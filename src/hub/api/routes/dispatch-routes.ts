import { TargetPolicy } from '../../../browser/net/target-policy.js';
import { resolveCapture } from '../../../client/capture/capture-options.js';
import { pageCapture } from '../../../client/capture/page-capture.js';
import type { ForeignEntry } from '../../../client/millrace.js';
import { parseDuration } from '../../../internal/duration.js';
import { MillraceError } from '../../../internal/errors.js';
import { PrivateTargets } from '../../../internal/private-targets.js';
import { dispatchedMany, dispatchedShape } from '../../../protocol/http/job-answers.js';
import {
  captureBody,
  type DispatchBody,
  dispatchBody,
  dispatchHeaders,
  dispatchManyBody,
} from '../../../protocol/http/job-requests.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, bodyLimit, problems } from '../api-routes.js';
import { needs } from '../route-role.js';

const tags = ['Jobs'];

/** `POST /jobs`, `POST /jobs/many` and `POST /captures`. */
export function dispatchRoutes(app: ApiApp, { client }: ApiDeps): void {
  app.route({
    method: 'POST',
    url: '/jobs',
    bodyLimit,
    config: needs('submit'),
    schema: {
      operationId: 'dispatch',
      summary: 'Dispatch a job',
      description: 'Answers 201, or 200 with the job that was there before.',
      tags,
      body: dispatchBody,
      headers: dispatchHeaders,
      response: { 201: dispatchedShape, 200: dispatchedShape, ...problems(409, 413, 415, 422) },
    },
    async handler(request, reply) {
      const entry = entryOf(request.body, request.headers['idempotency-key']);
      const { id, deduplicated } = await client.internals.dispatchFor(entry);
      reply.code(deduplicated ? 200 : 201).header('location', `/jobs/${id}`);
      return { id, deduplicated };
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/many',
    bodyLimit,
    config: needs('submit'),
    schema: {
      operationId: 'dispatchMany',
      summary: 'Dispatch up to 1,000 jobs',
      description:
        'All are checked before the first is written. It is not one transaction: where some are refused, `details.ids` of the problem tells the others.',
      tags,
      body: dispatchManyBody,
      response: { 201: dispatchedMany, ...problems(409, 413, 415, 422) },
    },
    async handler(request, reply) {
      const entries = request.body.jobs.map((job) => entryOf(job, undefined));
      const handles = await client.internals.dispatchManyFor(entries);
      reply.code(201);
      return { jobs: handles.map(({ id, deduplicated }) => ({ id, deduplicated })) };
    },
  });

  const policy = new TargetPolicy({
    privateTargets:
      PrivateTargets.parse(client.internals.settings.browserPrivateTargets) ?? PrivateTargets.none,
  });
  app.route({
    method: 'POST',
    url: '/captures',
    bodyLimit,
    config: needs('submit'),
    schema: {
      operationId: 'capture',
      summary: 'Capture a page',
      description:
        'Dispatches the built-in job `page.capture`, which a worker with browser lanes runs. Its result is at `/jobs/{id}`, its files at `/jobs/{id}/files`.',
      tags,
      body: captureBody,
      headers: dispatchHeaders,
      response: { 202: dispatchedShape, 200: dispatchedShape, ...problems(409, 413, 415, 422) },
    },
    async handler(request, reply) {
      const { url } = resolveCapture(request.body);
      // By its text alone: what a name stands for is judged where it is opened, by the worker.
      const why = policy.refusalOfUrl(new URL(url));
      if (why !== null) throw new MillraceError('target-refused', `${url} may not be captured: ${why}`);
      const payload = request.body;
      const entry = entryOf({ name: pageCapture.name, payload }, request.headers['idempotency-key']);
      const { id, deduplicated } = await client.internals.dispatchFor(entry);
      reply.code(deduplicated ? 200 : 202).header('location', `/jobs/${id}`);
      return { id, deduplicated };
    },
  });
}

function entryOf({ name, payload, options = {} }: DispatchBody, headerKey: string | undefined): ForeignEntry {
  const { version, retention, idempotencyKey = headerKey, ...rest } = options;
  if (headerKey !== undefined && idempotencyKey !== headerKey) throw twoKeys();
  return {
    name,
    input: payload,
    options: idempotencyKey === undefined ? rest : { ...rest, idempotencyKey },
    ...(version === undefined ? {} : { version }),
    ...(retention === undefined
      ? {}
      : { retentionMs: parseDuration(retention, { name: 'option "retention"' }) }),
  };
}

function twoKeys(): MillraceError {
  return new MillraceError(
    'request-invalid',
    'the header Idempotency-Key and options.idempotencyKey differ. Give one of them',
  );
}
