import type { BulkReport } from '../../../client/bulk-control.js';
import { MillraceError } from '../../../internal/errors.js';
import { bulkAnswer, controlAnswer } from '../../../protocol/http/job-answers.js';
import { bulkBody, bulkEditBody, editBody, idParams, noBody } from '../../../protocol/http/job-requests.js';
import type { ControlOutcome } from '../../../storage/settlement.js';
import type { ApiDeps } from '../api-deps.js';
import { type ApiApp, bodyLimit, problems, toldAs } from '../api-routes.js';
import { audited } from '../operators.js';
import { needs } from '../route-role.js';

const tags = ['Jobs'];
const config = needs('admin');
const running = 'Answers 202 with `requested` where it runs: it was asked to stop.';

const orders = [
  {
    kind: 'retry',
    summary: 'Run a buried or cancelled job again, or a pending one now',
    description: 'With a fresh set of attempts.',
  },
  { kind: 'cancel', summary: 'Call a job off', description: running },
  { kind: 'bury', summary: 'Put a job aside for inspection', description: running },
] as const;

const answers = { 200: controlAnswer, 202: controlAnswer, ...problems(404, 409, 415, 422) };

/** What operators do to one job. */
export function controlRoutes(app: ApiApp, deps: ApiDeps): void {
  for (const { kind, summary, description } of orders) {
    app.route({
      method: 'POST',
      url: `/jobs/:id/${kind}`,
      bodyLimit,
      config,
      schema: {
        operationId: kind,
        summary,
        description,
        tags,
        params: idParams,
        body: noBody,
        response: answers,
      },
      async handler(request, reply) {
        const { id } = request.params;
        const outcome = await audited(
          deps,
          request,
          { action: `job.${kind}`, target: id },
          {
            run: () => deps.client[kind](id),
            told: String,
          },
        );
        return reply.code(outcome === 'requested' ? 202 : 200).send(taken(id, kind, outcome));
      },
    });
  }
  editRoute(app, deps);
  deleteRoute(app, deps);
}

function editRoute(app: ApiApp, deps: ApiDeps): void {
  app.route({
    method: 'PATCH',
    url: '/jobs/:id',
    bodyLimit,
    config,
    schema: {
      operationId: 'edit',
      summary: 'Change a job that waits',
      description: 'A new input must fit the schema of the job, where the hub knows it.',
      tags,
      params: idParams,
      body: editBody,
      response: { ...answers, ...problems(413) },
    },
    async handler(request) {
      const { id } = request.params;
      const outcome = await audited(
        deps,
        request,
        { action: 'job.edit', target: id },
        {
          run: () => deps.client.edit(id, request.body),
          told: String,
        },
      );
      return taken(id, 'edit', outcome);
    },
  });
}

function deleteRoute(app: ApiApp, deps: ApiDeps): void {
  app.route({
    method: 'DELETE',
    url: '/jobs/:id',
    config,
    schema: {
      operationId: 'delete',
      summary: 'Remove a job with its log',
      description: running,
      tags,
      params: idParams,
      response: answers,
    },
    async handler(request, reply) {
      const { id } = request.params;
      const outcome = await audited(
        deps,
        request,
        { action: 'job.delete', target: id },
        {
          run: () => deps.client.delete(id),
          told: String,
        },
      );
      return reply.code(outcome === 'requested' ? 202 : 200).send(taken(id, 'delete', outcome));
    },
  });
}

const bulkOrders = [
  { kind: 'retry', call: 'retryMany', summary: 'Retry every job that fits' },
  { kind: 'cancel', call: 'cancelMany', summary: 'Cancel every job that fits' },
  { kind: 'bury', call: 'buryMany', summary: 'Put every job that fits aside' },
  { kind: 'delete', call: 'deleteMany', summary: 'Delete every job that fits' },
] as const;

/** The same change for every job that fits a filter. */
export function bulkRoutes(app: ApiApp, deps: ApiDeps): void {
  const response = { 200: bulkAnswer, ...problems(415, 422) };
  const description =
    'At least one thing must be given to find them by. It is not one transaction: the same again goes on with the rest.';
  for (const { kind, call, summary } of bulkOrders) {
    app.route({
      method: 'POST',
      url: `/jobs/${kind}`,
      bodyLimit,
      config,
      schema: { operationId: call, summary, description, tags, body: bulkBody, response },
      handler: async (request) => {
        const deed = { action: `jobs.${kind}`, target: JSON.stringify(request.body.where) };
        return toldAs(
          await audited(deps, request, deed, { run: () => deps.client[call](request.body), told: bulkTold }),
        );
      },
    });
  }
  app.route({
    method: 'POST',
    url: '/jobs/edit',
    bodyLimit,
    config,
    schema: {
      operationId: 'editMany',
      summary: 'Change every waiting job that fits',
      description,
      tags,
      body: bulkEditBody,
      response,
    },
    handler: async (request) => {
      const deed = { action: 'jobs.edit', target: JSON.stringify(request.body.where) };
      return toldAs(
        await audited(deps, request, deed, { run: () => deps.client.editMany(request.body), told: bulkTold }),
      );
    },
  });
}

function bulkTold({ dryRun, matched, done, requested }: BulkReport): string {
  return dryRun ? `dry run: ${matched} fit` : `done ${done}, requested ${requested}, of ${matched}`;
}

function taken(
  id: string,
  kind: string,
  outcome: ControlOutcome,
): { id: string; outcome: 'done' | 'requested' } {
  switch (outcome) {
    case 'done':
    case 'requested':
      return { id: id.toLowerCase(), outcome };
    case 'not-found':
      throw new MillraceError('job-not-found', `there is no job ${id}`, { details: { id, outcome } });
    case 'already-final':
      throw new MillraceError('job-already-final', `job ${id} has ended, so a ${kind} comes too late`, {
        details: { id, outcome },
      });
    case 'not-allowed':
      throw new MillraceError('transition-illegal', `job ${id} is in a status that has no ${kind}`, {
        details: { id, outcome },
      });
    case 'duplicate':
      throw new MillraceError('unique-key-held', `job ${id}: another job holds its unique key`, {
        details: { id, outcome },
      });
  }
}
