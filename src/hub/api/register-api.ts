import type { FastifyInstance } from 'fastify';
import type { ApiDeps } from './api-deps.js';
import type { ApiApp } from './api-routes.js';
import { gatherOpenapi } from './openapi.js';
import { errorHandler } from './problems.js';
import { checkShape, parseJsonBodies, requireJson, tellAsJson } from './request-rules.js';
import { bulkRoutes, controlRoutes } from './routes/control-routes.js';
import { dispatchRoutes } from './routes/dispatch-routes.js';
import { eventRoutes } from './routes/event-routes.js';
import { fileRoutes } from './routes/file-routes.js';
import { jobRoutes } from './routes/job-routes.js';
import { metricsRoutes } from './routes/metrics-routes.js';
import { openapiRoutes } from './routes/openapi-routes.js';
import { queueRoutes, upkeepRoutes } from './routes/queue-routes.js';
import { systemRoutes } from './routes/system-routes.js';
import { workerControlRoutes, workerRoutes } from './routes/worker-routes.js';
import { KnownRoutes } from './unknown-routes.js';

/**
 * The HTTP API of a hub, on an app of its own: how bodies are read, how shapes are checked, how errors are told, and every
 * route. Routes that others add behind it are held to the same.
 */
export async function registerApi(instance: FastifyInstance, deps: ApiDeps): Promise<void> {
  const app = instance as unknown as ApiApp;
  const known = new KnownRoutes();
  app.setValidatorCompiler(checkShape);
  app.setSerializerCompiler(tellAsJson);
  app.setErrorHandler(errorHandler(deps.logger));
  app.setNotFoundHandler((request, reply) => known.refuse(request, reply));
  parseJsonBodies(instance);
  app.addHook('onRequest', (request, _reply, done) => {
    requireJson(request);
    done();
  });
  known.watch(instance);
  await gatherOpenapi(app);
  openapiRoutes(app);
  dispatchRoutes(app, deps);
  jobRoutes(app, deps);
  fileRoutes(app, deps);
  const events = eventRoutes(app, deps);
  controlRoutes(app, deps);
  bulkRoutes(app, deps);
  queueRoutes(app, deps);
  workerRoutes(app, deps);
  workerControlRoutes(app, deps);
  upkeepRoutes(app, deps);
  systemRoutes(app, deps);
  metricsRoutes(app, deps, () => events.open);
}
