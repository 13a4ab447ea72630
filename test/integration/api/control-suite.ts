import { describe, expect, it } from 'vitest';
import { newJobId } from '../../../src/index.js';
import { hubsAnswer } from '../../../src/protocol/http/fleet-shapes.js';
import { bulkAnswer, controlAnswer } from '../../../src/protocol/http/job-answers.js';
import { auditPage, queuesAnswer, tickAnswer } from '../../../src/protocol/http/system-shapes.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { type ApiStage, openApi, work } from './api-stage.js';
import { expectProblem } from './jobs-suite.js';

async function greetings(at: ApiStage, count: number, options: object = {}): Promise<string[]> {
  const jobs = Array.from({ length: count }, (_, index) => ({
    name: 'greet',
    payload: { name: `n${index}` },
    options,
  }));
  const { body } = await at.call('POST', '/jobs/many', { jobs });
  return body.jobs.map(({ id }: { id: string }) => id);
}

const statusOf = async (at: ApiStage, id: string): Promise<string> =>
  (await at.call('GET', `/jobs/${id}`)).body.status;

/** What operators do over HTTP, on every engine. */
export function apiControlSuite(name: Engine): void {
  describe.skipIf(!engineAvailable(name))(`[${name}] http: operators of jobs`, () => {
    it('cancels, retries, buries, edits and deletes one job', async () => {
      await using at = await openApi(name);
      const [id = ''] = await greetings(at, 1);
      const cancelled = await at.call('POST', `/jobs/${id}/cancel`);
      expect([cancelled.status, controlAnswer.parse(cancelled.body)]).toEqual([200, { id, outcome: 'done' }]);
      expectProblem(await at.call('POST', `/jobs/${id}/cancel`), 409, 'job-already-final');
      expectProblem(await at.call('PATCH', `/jobs/${id}`, { priority: 5 }), 409, 'job-already-final');
      expect((await at.call('POST', `/jobs/${id}/retry`, {})).status).toBe(200);
      const edited = await at.call('PATCH', `/jobs/${id}`, {
        input: { name: 'Bob' },
        priority: 'high',
        queue: 'other',
      });
      expect([edited.status, edited.body]).toEqual([200, { id, outcome: 'done' }]);
      expect((await at.call('GET', `/jobs/${id}`)).body).toMatchObject({
        input: { name: 'Bob' },
        priority: 10,
        queue: 'other',
      });
      expectProblem(await at.call('PATCH', `/jobs/${id}`, { input: { name: 7 } }), 422, 'payload-invalid');
      expectProblem(await at.call('PATCH', `/jobs/${id}`, {}), 422, 'option-invalid');
      expectProblem(await at.call('PATCH', `/jobs/${id}`, { color: 1 }), 422, 'request-invalid');
      expect((await at.call('POST', `/jobs/${id}/bury`)).status).toBe(200);
      expect((await at.call('DELETE', `/jobs/${id}`)).status).toBe(200);
      for (const deed of ['cancel', 'retry', 'bury']) {
        expectProblem(await at.call('POST', `/jobs/${id}/${deed}`), 404, 'job-not-found');
        expectProblem(await at.call('POST', `/jobs/no-id/${deed}`), 422, 'option-invalid');
      }
      expectProblem(await at.call('DELETE', `/jobs/${newJobId()}`), 404, 'job-not-found');
    });

    it('says where another job holds the unique key', async () => {
      await using at = await openApi(name);
      const [id = ''] = await greetings(at, 1, { unique: { key: 'k' } });
      await at.call('POST', `/jobs/${id}/cancel`);
      await greetings(at, 1, { unique: { key: 'k' } });
      expectProblem(await at.call('POST', `/jobs/${id}/retry`), 409, 'unique-key-held');
    });

    it('changes many by a filter, and in a dry run none', async () => {
      await using at = await openApi(name);
      const ids = await greetings(at, 12, { tags: ['old'] });
      await greetings(at, 2);
      const dry = await at.call('POST', '/jobs/cancel', { where: { tag: 'old' }, dryRun: true });
      expect(bulkAnswer.parse(dry.body)).toMatchObject({ dryRun: true, matched: 12, done: 0 });
      expect(dry.body.sample).toHaveLength(10);
      expect(await statusOf(at, ids[0] ?? '')).toBe('pending');
      expect(
        (await at.call('POST', '/jobs/edit', { where: { tag: 'old' }, edit: { priority: 7 } })).body.done,
      ).toBe(12);
      expect((await at.call('POST', '/jobs/cancel', { where: { tag: 'old' } })).body.done).toBe(12);
      expect(
        (await at.call('POST', '/jobs/retry', { where: { tag: 'old', status: 'cancelled' } })).body.done,
      ).toBe(12);
      expect((await at.call('POST', '/jobs/bury', { where: { tag: 'old' } })).body.done).toBe(12);
      expect((await at.call('POST', '/jobs/delete', { where: { tag: 'old' } })).body.done).toBe(12);
      expect((await at.call('GET', '/jobs')).body.jobs).toHaveLength(2);
      expectProblem(await at.call('POST', '/jobs/delete', { where: {} }), 422, 'option-invalid');
      expectProblem(await at.call('POST', '/jobs/delete', {}), 422, 'request-invalid');
      expectProblem(
        await at.call('POST', '/jobs/retry', { where: { status: 'completed' } }),
        422,
        'option-invalid',
      );
    });

    it('asks a running job to stop, with 202', async () => {
      await using at = await openApi(name);
      const { body } = await at.call('POST', '/jobs', { name: 'hang' });
      await using worker = at.client.worker();
      await worker.start();
      await waitFor(async () => (await statusOf(at, body.id)) === 'processing', {
        describe: 'the job to run',
        deadlineMs: 20_000,
      });
      const answer = await at.call('POST', `/jobs/${body.id}/cancel`);
      expect([answer.status, answer.body.outcome]).toEqual([202, 'requested']);
      await waitFor(async () => (await statusOf(at, body.id)) === 'cancelled', {
        describe: 'the job to stop',
        deadlineMs: 25_000,
      });
    }, 60_000);
  });

  describe.skipIf(!engineAvailable(name))(`[${name}] http: operators of queues`, () => {
    it('pauses and resumes a queue, and retries what is buried in it', async () => {
      await using at = await openApi(name);
      await at.call('POST', '/jobs', { name: 'fail' });
      expect((await at.call('POST', '/queues/default/pause')).body).toEqual({
        queue: 'default',
        paused: true,
      });
      expect(queuesAnswer.parse((await at.call('GET', '/queues')).body).queues[0]).toMatchObject({
        queue: 'default',
        paused: true,
        claimable: 0,
      });
      expect((await at.call('POST', '/queues/default/resume')).body).toEqual({
        queue: 'default',
        paused: false,
      });
      await work(at.client);
      expect((await at.call('POST', '/queues/default/retry-buried')).body).toEqual({
        retried: 1,
        duplicates: 0,
      });
      expectProblem(await at.call('POST', '/queues/a%20b/pause'), 422, 'queue-name-invalid');
      expectProblem(await at.call('POST', '/queues/default/pause', { now: true }), 422, 'request-invalid');
    });

    it('ticks, recovers and purges', async () => {
      await using at = await openApi(name);
      await greetings(at, 3);
      const ticked = await at.call('POST', '/tick', { budget: '20s' });
      expect([ticked.status, tickAnswer.parse(ticked.body).completed]).toEqual([200, 3]);
      expect((await at.call('POST', '/recover')).body).toEqual({
        retried: {},
        buried: {},
        ended: 0,
        waiting: 0,
      });
      expect((await at.call('POST', '/purge', { olderThan: '1h' })).body).toEqual({ purged: 0 });
      expect((await at.call('POST', '/purge', { olderThan: 0, statuses: ['completed'] })).body).toEqual({
        purged: 3,
      });
      expectProblem(await at.call('POST', '/purge', { statuses: ['pending'] }), 422, 'request-invalid');
      expectProblem(await at.call('POST', '/tick', { budget: '1h' }), 422, 'option-invalid');
      expectProblem(await at.call('POST', '/tick', { queues: [] }), 422, 'request-invalid');
    });
  });

  describe.skipIf(!engineAvailable(name))(`[${name}] http: operators of workers`, () => {
    it('drains, activates and recycles a worker, and forgets one that is gone', async () => {
      await using at = await openApi(name);
      const worker = at.client.worker({ queues: ['nothing'] });
      await worker.start();
      const { id } = worker;
      for (const adminState of ['drain', 'standby', 'active']) {
        expect((await at.call('PATCH', `/workers/${id}`, { adminState })).body).toEqual({
          id,
          outcome: 'done',
        });
        expect((await at.call('GET', `/workers/${id}`)).body.adminState).toBe(adminState);
      }
      expectProblem(await at.call('DELETE', `/workers/${id}`), 409, 'worker-alive');
      expect((await at.call('POST', `/workers/${id}/recycle`)).body).toEqual({ id, outcome: 'done' });
      await worker.stop();
      expect((await at.call('DELETE', `/workers/${id}`)).body).toEqual({ id, outcome: 'done' });
      expectProblem(await at.call('DELETE', `/workers/${id}`), 404, 'worker-not-found');
      expectProblem(
        await at.call('PATCH', '/workers/none', { adminState: 'drain' }),
        404,
        'worker-not-found',
      );
      expectProblem(
        await at.call('PATCH', `/workers/${id}`, { adminState: 'asleep' }),
        422,
        'request-invalid',
      );
    });

    it('writes every deed of an operator to the audit, also one that failed', async () => {
      await using at = await openApi(name);
      const [id = ''] = await greetings(at, 1);
      await at.call('POST', `/jobs/${id}/cancel`);
      await at.call('PATCH', `/jobs/${id}`, { priority: 3 });
      await at.call('POST', '/jobs/delete', { where: { queue: 'default' } });
      await at.call('POST', '/queues/default/pause');
      await at.call('POST', '/queues/a%20b/pause');
      await at.call('PATCH', '/workers/none', { adminState: 'drain' });
      const first = auditPage.parse((await at.call('GET', '/audit?limit=4')).body);
      const rest = auditPage.parse((await at.call('GET', `/audit?cursor=${first.next}`)).body);
      const entries = [...first.entries, ...rest.entries].map(({ action, target, result, source }) => [
        action,
        target,
        result,
        source,
      ]);
      expect(entries.reverse()).toEqual([
        ['job.cancel', id, 'done', '127.0.0.1'],
        ['job.edit', id, 'already-final', '127.0.0.1'],
        ['jobs.delete', '{"queue":"default"}', 'done 1, requested 0, of 1', '127.0.0.1'],
        ['queue.pause', 'default', 'done', '127.0.0.1'],
        ['queue.pause', 'a b', 'failed: queue-name-invalid', '127.0.0.1'],
        ['worker.drain', 'none', 'not-found', '127.0.0.1'],
      ]);
      expect(rest.next).toBeNull();
      for (const query of ['limit=0', 'cursor=x', 'after=1']) {
        expect((await at.call('GET', `/audit?${query}`)).status).toBe(422);
      }
    });

    it('lists the hubs over the database', async () => {
      await using at = await openApi(name);
      await at.engine.storage.hubBeat({
        id: 'hub-1',
        host: 'h',
        pid: 1,
        version: '0',
        advertiseUrl: null,
        connections: 3,
        details: {},
      });
      expect(hubsAnswer.parse((await at.call('GET', '/hubs')).body).hubs).toMatchObject([
        { id: 'hub-1', connections: 3 },
      ]);
    });
  });
}
