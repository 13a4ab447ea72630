import { parseQueueName } from '../../../core/queue-name.js';
import { parseDuration } from '../../../internal/duration.js';
import { MillraceError } from '../../../internal/errors.js';
import { noBody } from '../../../protocol/http/job-requests.js';
import {
  buriedRetried,
  purgeBody,
  purged,
  queueParams,
  queuePaused,
  queuesAnswer,
  recoverBody,
  recovered,
  tickAnswer,
  tickBody,
} from '../../../protocol/http/system-shapes.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, bodyLimit, problems } from '../api-routes.js';
import { audited } from '../operators.js';
import { needs } from '../route-role.js';

const tags = ['Queues'];
const config = needs('admin');

/** Queues, and what operators do to them. */
export function queueRoutes(app: ApiApp, deps: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/queues',
    config: needs('read'),
    schema: {
      operationId: 'queues',
      summary: 'Every queue with its numbers',
      tags,
      response: { 200: queuesAnswer, ...problems() },
    },
    handler: async () => ({ queues: await deps.client.stats() }),
  });

  for (const kind of ['pause', 'resume'] as const) {
    app.route({
      method: 'POST',
      url: `/queues/:name/${kind}`,
      bodyLimit,
      config,
      schema: {
        operationId: kind,
        summary: kind === 'pause' ? 'Keep workers from taking its jobs' : 'Let workers take its jobs again',
        description: 'A queue exists as soon as it is named. What runs goes on.',
        tags,
        params: queueParams,
        body: noBody,
        response: { 200: queuePaused, ...problems(415, 422) },
      },
      async handler(request) {
        const { name } = request.params;
        await audited(
          deps,
          request,
          { action: `queue.${kind}`, target: name },
          {
            run: () => deps.client[kind](name),
            told: () => 'done',
          },
        );
        return { queue: name, paused: kind === 'pause' };
      },
    });
  }

  app.route({
    method: 'POST',
    url: '/queues/:name/retry-buried',
    bodyLimit,
    config,
    schema: {
      operationId: 'retryBuried',
      summary: 'Retry every buried job of a queue',
      tags,
      params: queueParams,
      body: noBody,
      response: { 200: buriedRetried, ...problems(415, 422) },
    },
    handler(request) {
      const queue = parseQueueName(request.params.name);
      return audited(
        deps,
        request,
        { action: 'queue.retry-buried', target: queue },
        {
          run: () => deps.client.retryBuried({ queue }),
          told: ({ retried, duplicates }) => `retried ${retried}, left ${duplicates}`,
        },
      );
    },
  });
}

const longestTickMs = 300_000;
const usualBudget = '50s';

/** What keeps a system without workers going, and clean. */
export function upkeepRoutes(app: ApiApp, deps: ApiDeps): void {
  const tagged = ['System'];
  app.route({
    method: 'POST',
    url: '/purge',
    bodyLimit,
    config,
    schema: {
      operationId: 'purge',
      summary: 'Delete jobs that ended long ago',
      tags: tagged,
      body: purgeBody.nullish(),
      response: { 200: purged, ...problems(415, 422) },
    },
    async handler(request) {
      const options = request.body ?? {};
      const count = await audited(
        deps,
        request,
        { action: 'purge', target: JSON.stringify(options) },
        {
          run: () => deps.client.purge(options),
          told: (deleted) => `deleted ${deleted}`,
        },
      );
      return { purged: count };
    },
  });

  app.route({
    method: 'POST',
    url: '/recover',
    bodyLimit,
    config,
    schema: {
      operationId: 'recover',
      summary: 'Take back leases whose holders are gone',
      tags: tagged,
      body: recoverBody.nullish(),
      response: { 200: recovered, ...problems(415, 422) },
    },
    handler(request) {
      const force = request.body?.force === true;
      return audited(
        deps,
        request,
        { action: 'recover', target: force ? 'force' : '' },
        {
          run: () => deps.client.recover({ force }),
          told: ({ waiting }) => `done, ${waiting} left`,
        },
      );
    },
  });

  tickRoute(app, deps);
}

function tickRoute(app: ApiApp, deps: ApiDeps): void {
  let isTicking = false;
  app.route({
    method: 'POST',
    url: '/tick',
    bodyLimit,
    config,
    schema: {
      operationId: 'tick',
      summary: 'Recover, and run in the hub what is due, within a budget of time',
      description: 'For a site without a worker. One at a time; the hub runs jobs that its config defines.',
      tags: ['System'],
      body: tickBody.nullish(),
      response: { 200: tickAnswer, ...problems(415, 422) },
    },
    async handler(request) {
      const { budget = usualBudget, queues } = request.body ?? {};
      const budgetMs = parseDuration(budget, { name: 'option "budget"', min: 1, max: longestTickMs });
      if (isTicking) throw new MillraceError('hub-busy', 'a tick runs on this hub already');
      isTicking = true;
      try {
        const options = { budget: budgetMs, ...(queues === undefined ? {} : { queues }) };
        return await audited(
          deps,
          request,
          { action: 'tick', target: queues?.join(',') ?? '' },
          {
            run: () => deps.client.tick(options),
            told: ({ completed, buried }) => `completed ${completed}, buried ${buried}`,
          },
        );
      } finally {
        isTicking = false;
      }
    },
  });
}
