import { MillraceError } from '../../../internal/errors.js';
import {
  adminStateBody,
  whyWorkerAnswer,
  workerOrdered,
  workerParams,
  workerShape,
  workersAnswer,
} from '../../../protocol/http/fleet-shapes.js';
import { noBody } from '../../../protocol/http/job-requests.js';
import type { WorkerChangeOutcome } from '../../../storage/worker-record.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, bodyLimit, problems, toldAs } from '../api-routes.js';
import { operatorOf } from '../operators.js';
import { needs } from '../route-role.js';

const tags = ['Workers'];

/** Looking at workers. */
export function workerRoutes(app: ApiApp, { client }: ApiDeps): void {
  const config = needs('read');
  app.route({
    method: 'GET',
    url: '/workers',
    config,
    schema: {
      operationId: 'workers',
      summary: 'The registered workers, of every process',
      tags,
      response: { 200: workersAnswer, ...problems() },
    },
    handler: async () => toldAs({ workers: await client.workers() }),
  });

  app.route({
    method: 'GET',
    url: '/workers/:id',
    config,
    schema: {
      operationId: 'worker',
      summary: 'One worker',
      tags,
      params: workerParams,
      response: { 200: workerShape, ...problems(404) },
    },
    async handler({ params: { id } }) {
      const found = (await client.workers()).find((worker) => worker.id === id);
      return toldAs(found ?? missing(id));
    },
  });

  app.route({
    method: 'GET',
    url: '/workers/:id/why',
    config,
    schema: {
      operationId: 'whyWorker',
      summary: 'Why a worker gets no work',
      tags,
      params: workerParams,
      response: { 200: whyWorkerAnswer, ...problems(404) },
    },
    handler: async ({ params: { id } }) => toldAs((await client.whyWorker(id)) ?? missing(id)),
  });
}

/** What operators do to workers; the audit entry is written in the same transaction. */
export function workerControlRoutes(app: ApiApp, { client }: ApiDeps): void {
  const config = needs('admin');
  app.route({
    method: 'PATCH',
    url: '/workers/:id',
    bodyLimit,
    config,
    schema: {
      operationId: 'setAdminState',
      summary: 'Drain a worker, put it on standby, or activate it',
      description: 'Kept under the id of the worker over reconnects, restarts and silence.',
      tags,
      params: workerParams,
      body: adminStateBody,
      response: { 200: workerOrdered, ...problems(404, 415, 422) },
    },
    async handler(request) {
      const { params, body } = request;
      const by = operatorOf(request);
      const change = { drain: 'drainWorker', standby: 'standbyWorker', active: 'activateWorker' } as const;
      return ordered(params.id, await client[change[body.adminState]](params.id, by));
    },
  });

  app.route({
    method: 'POST',
    url: '/workers/:id/recycle',
    bodyLimit,
    config,
    schema: {
      operationId: 'recycleWorker',
      summary: 'Ask a worker to finish what runs and make room for a fresh process',
      tags,
      params: workerParams,
      body: noBody,
      response: { 200: workerOrdered, ...problems(404, 415, 422) },
    },
    handler: async (request) =>
      ordered(request.params.id, await client.recycleWorker(request.params.id, operatorOf(request))),
  });

  app.route({
    method: 'DELETE',
    url: '/workers/:id',
    config,
    schema: {
      operationId: 'forgetWorker',
      summary: 'Remove the registration of a worker that is offline',
      tags,
      params: workerParams,
      response: { 200: workerOrdered, ...problems(404, 409, 422) },
    },
    handler: async (request) =>
      ordered(request.params.id, await client.forgetWorker(request.params.id, operatorOf(request))),
  });
}

function ordered(id: string, outcome: WorkerChangeOutcome): { id: string; outcome: 'done' } {
  switch (outcome) {
    case 'done':
      return { id, outcome };
    case 'not-found':
      return missing(id);
    case 'alive':
      throw new MillraceError(
        'worker-alive',
        `worker ${id} lives or is connected, so it can't be forgotten. Stop its process, or drain it`,
        { details: { id, outcome } },
      );
  }
}

function missing(id: string): never {
  throw new MillraceError('worker-not-found', `there is no worker ${id}. GET /workers lists them`, {
    details: { id, outcome: 'not-found' },
  });
}
