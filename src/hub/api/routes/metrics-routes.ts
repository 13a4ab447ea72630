import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { eventText } from '../../../protocol/http/job-answers.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, problems } from '../api-routes.js';
import { addDatabaseMetrics } from '../metrics/database-metrics.js';
import { addLinkMetrics } from '../metrics/link-metrics.js';
import { addProcessMetrics } from '../metrics/process-metrics.js';
import { needs } from '../route-role.js';

/** `GET /metrics`, for Prometheus. */
export function metricsRoutes(
  app: ApiApp,
  { client, logger, metrics }: ApiDeps,
  streams: () => number,
): void {
  const registry = new Registry();
  addDatabaseMetrics(registry, client, logger);
  if (metrics !== undefined) addLinkMetrics(registry, metrics);
  addProcessMetrics(registry, app as unknown as FastifyInstance, streams);
  app.route({
    method: 'GET',
    url: '/metrics',
    config: needs('read'),
    schema: {
      operationId: 'metrics',
      summary: 'Numbers for Prometheus',
      description: 'Scrapes within one second share one reading of the database.',
      tags: ['System'],
      response: {
        200: { description: 'Metrics as text.', content: { 'text/plain': { schema: eventText } } },
        ...problems(),
      },
    },
    async handler(_request, reply) {
      const text = await registry.metrics();
      return reply.type(registry.contentType).serializer(String).send(text);
    },
  });
}
