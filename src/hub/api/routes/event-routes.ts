import { eventText } from '../../../protocol/http/job-answers.js';
import { eventHeaders, eventQuery, idParams } from '../../../protocol/http/job-requests.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, problems } from '../api-routes.js';
import { EventDesk } from '../events/event-desk.js';
import { needs } from '../route-role.js';

const mostStreams = 500;

/** `GET /jobs/:id/events`. */
export function eventRoutes(app: ApiApp, deps: ApiDeps): EventDesk {
  const { client, logger } = deps;
  const desk = new EventDesk({ client, logger, mostStreams, ...deps.events });
  app.addHook('preClose', (done) => {
    desk.close();
    done();
  });
  app.route({
    method: 'GET',
    url: '/jobs/:id/events',
    config: needs('read'),
    schema: {
      operationId: 'events',
      summary: 'What happens to a job, as it happens',
      description:
        'Server-sent events: `status` (the job is in this status now), `log`, `progress`, `gone` (it was deleted). First what has happened, then what does; the stream ends with the job. Who comes back with `Last-Event-ID` goes on behind that event, and is answered 204 once there is nothing more to come.',
      tags: ['Jobs'],
      params: idParams,
      querystring: eventQuery,
      headers: eventHeaders,
      response: {
        200: { description: 'Events.', content: { 'text/event-stream': { schema: eventText } } },
        204: { description: 'Nothing follows any more.', content: { 'text/plain': { schema: eventText } } },
        ...problems(404, 422),
      },
    },
    async handler(request, reply) {
      const { params, query, headers } = request;
      await desk.answer(params.id, headers['last-event-id'] ?? query.since, reply);
      return reply;
    },
  });
  return desk;
}
