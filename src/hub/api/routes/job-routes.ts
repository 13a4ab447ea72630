import { parseDuration } from '../../../internal/duration.js';
import { MillraceError } from '../../../internal/errors.js';
import { longestWaitMs } from '../../../protocol/http/http-terms.js';
import {
  endingAnswer,
  jobShape,
  jobsPage,
  logPage,
  whyJobAnswer,
} from '../../../protocol/http/job-answers.js';
import { endingQuery, idParams, jobsQuery, logQuery } from '../../../protocol/http/job-requests.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, problems, toldAs } from '../api-routes.js';
import { ResultDesk } from '../result-desk.js';
import { needs } from '../route-role.js';

const tags = ['Jobs'];
const config = needs('read');

/** Looking at jobs. */
export function jobRoutes(app: ApiApp, { client }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/jobs',
    config,
    schema: {
      operationId: 'jobs',
      summary: 'List jobs, page by page',
      description:
        'Processing, pending, blocked, buried, cancelled, completed ones; pending in their order of claim, else newest first. With a tag newest first.',
      tags,
      querystring: jobsQuery,
      response: { 200: jobsPage, ...problems(422) },
    },
    handler: async (request) => toldAs(await client.jobs(request.query)),
  });

  app.route({
    method: 'GET',
    url: '/jobs/:id',
    config,
    schema: {
      operationId: 'job',
      summary: 'A job with all that is known of it',
      tags,
      params: idParams,
      response: { 200: jobShape, ...problems(404, 422) },
    },
    async handler({ params: { id } }) {
      return toldAs((await client.job(id)) ?? missing(id));
    },
  });

  app.route({
    method: 'GET',
    url: '/jobs/:id/why',
    config,
    schema: {
      operationId: 'why',
      summary: 'Why a job is where it is',
      tags,
      params: idParams,
      response: { 200: whyJobAnswer, ...problems(404, 422) },
    },
    async handler({ params: { id } }) {
      return toldAs((await client.why(id)) ?? missing(id));
    },
  });

  app.route({
    method: 'GET',
    url: '/jobs/:id/log',
    config,
    schema: {
      operationId: 'log',
      summary: 'What the handler of a job logged',
      tags,
      params: idParams,
      querystring: logQuery,
      response: { 200: logPage, ...problems(422) },
    },
    handler: async ({ params, query }) => toldAs({ lines: await client.log(params.id, query) }),
  });

  resultRoute(app, new ResultDesk(client));
}

function resultRoute(app: ApiApp, desk: ResultDesk): void {
  app.route({
    method: 'GET',
    url: '/jobs/:id/result',
    config,
    schema: {
      operationId: 'result',
      summary: 'How a job ended, waiting for it if asked to',
      description: 'Answers 202 with the status while the job has not ended.',
      tags,
      params: idParams,
      querystring: endingQuery,
      response: { 200: endingAnswer, 202: endingAnswer, ...problems(404, 422) },
    },
    async handler({ params, query }, reply) {
      const { wait } = query;
      const waitMs =
        wait === undefined ? 0 : parseDuration(wait, { name: 'option "wait"', max: longestWaitMs });
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const { hasEnded, ending } = await desk.ending(params.id, { waitMs, signal: gone.signal });
      reply.code(hasEnded ? 200 : 202);
      return toldAs(ending);
    },
  });
}

function missing(id: string): never {
  throw new MillraceError('job-not-found', `there is no job ${id}`, { details: { id } });
}
