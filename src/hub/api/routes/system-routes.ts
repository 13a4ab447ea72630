import { withDeadline } from '../../../internal/deadline.js';
import { version } from '../../../internal/version.js';
import { hubsAnswer } from '../../../protocol/http/fleet-shapes.js';
import { pageQuery } from '../../../protocol/http/job-requests.js';
import {
  auditPage,
  healthAnswer,
  limitsAnswer,
  queuesAnswer,
  readyAnswer,
  statsQuery,
} from '../../../protocol/http/system-shapes.js';
import type { HubRecord } from '../../../storage/hub-record.js';
import { monotonicMs } from '../../../worker/monotonic.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, problems, toldAs } from '../api-routes.js';
import { needs } from '../route-role.js';

const tags = ['System'];
const readyMs = 3_000;

/** Is it alive, can it work, what was done. */
export function systemRoutes(app: ApiApp, { client, health }: ApiDeps): void {
  const startedAtMs = monotonicMs();
  app.route({
    method: 'GET',
    url: '/healthz',
    config: needs('open'),
    schema: {
      operationId: 'healthz',
      summary: 'Whether the process lives',
      tags,
      response: { 200: healthAnswer },
    },
    handler: () => ({
      status: 'ok' as const,
      version,
      uptimeMs: Math.round(monotonicMs() - startedAtMs),
      details: { ...health?.() },
    }),
  });

  app.route({
    method: 'GET',
    url: '/readyz',
    config: needs('open'),
    schema: {
      operationId: 'readyz',
      summary: 'Whether the database answers',
      tags,
      response: { 200: readyAnswer, ...problems() },
    },
    async handler() {
      const asked = client.internals.storage().then((storage) => storage.now());
      await withDeadline(asked, { ms: readyMs, name: 'asking the database whether it is there' });
      return { status: 'ready' as const };
    },
  });

  app.route({
    method: 'GET',
    url: '/stats',
    config: needs('read'),
    schema: {
      operationId: 'stats',
      summary: 'The numbers of every queue, or of one',
      tags: ['Queues'],
      querystring: statsQuery,
      response: { 200: queuesAnswer, ...problems(422) },
    },
    handler: async ({ query: { queue } }) => ({
      queues: queue === undefined ? await client.stats() : [await client.stats(queue)],
    }),
  });

  app.route({
    method: 'GET',
    url: '/limits',
    config: needs('read'),
    schema: {
      operationId: 'limits',
      summary: 'What runs and waits under limits',
      tags: ['Queues'],
      response: { 200: limitsAnswer, ...problems() },
    },
    handler: async () => ({ limits: await client.limits() }),
  });

  app.route({
    method: 'GET',
    url: '/hubs',
    config: needs('read'),
    schema: {
      operationId: 'hubs',
      summary: 'The hubs over this database',
      tags: ['Workers'],
      response: { 200: hubsAnswer, ...problems() },
    },
    async handler() {
      const hubs = await (await client.internals.storage()).hubs();
      return toldAs({ hubs: hubs.map(hubView) });
    },
  });

  app.route({
    method: 'GET',
    url: '/audit',
    config: needs('admin'),
    schema: {
      operationId: 'audit',
      summary: 'What operators did, the newest first',
      tags,
      querystring: pageQuery,
      response: { 200: auditPage, ...problems(422) },
    },
    handler: async ({ query }) => toldAs(await client.audit(query)),
  });
}

function hubView({ startedAtMs, heartbeatAtMs, ...hub }: HubRecord) {
  return { ...hub, startedAt: new Date(startedAtMs), heartbeatAt: new Date(heartbeatAtMs) };
}
