import { describe, expect, it } from 'vitest';
import { newJobId } from '../../../src/index.js';
import { workersAnswer } from '../../../src/protocol/http/fleet-shapes.js';
import { dispatchedShape, endingAnswer, jobShape, jobsPage } from '../../../src/protocol/http/job-answers.js';
import { problemShape } from '../../../src/protocol/http/problem-shape.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { type Answer, openApi, work } from './api-stage.js';

/** What a problem must have, whatever it is. */
export function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.code, body: answer.body }).toMatchObject({
    status,
    code,
  });
  expect(answer.type).toBe('application/problem+json; charset=utf-8');
  expect(problemShape.parse(answer.body).status).toBe(status);
}

/** Dispatching and looking at jobs over HTTP, on every engine. */
export function jobsSuite(name: Engine): void {
  describe.skipIf(!engineAvailable(name))(`[${name}] http: dispatch`, () => {
    it('answers 201 with the id, and 200 with the same job for what was there before', async () => {
      await using at = await openApi(name);
      const first = await at.call('POST', '/jobs', {
        name: 'greet',
        payload: { name: 'Ada' },
        options: { unique: true },
      });
      expect(first.status).toBe(201);
      const { id } = dispatchedShape.parse(first.body);
      expect(first.headers.get('location')).toBe(`/jobs/${id}`);
      const again = await at.call('POST', '/jobs', {
        name: 'greet',
        payload: { name: 'Ada' },
        options: { unique: true },
      });
      expect(again.status).toBe(200);
      expect(again.body).toEqual({ id, deduplicated: true });
      const own = newJobId();
      const body = { name: 'greet', payload: { name: 'Bob' }, options: { id: own } };
      expect((await at.call('POST', '/jobs', body)).status).toBe(201);
      const repeat = await at.call('POST', '/jobs', body);
      expect([repeat.status, repeat.body]).toEqual([200, { id: own, deduplicated: true }]);
    });

    it('honours Idempotency-Key: the same again is the same job, another input a 409', async () => {
      await using at = await openApi(name);
      const key = { 'idempotency-key': 'order 7' };
      const ada = { name: 'greet', payload: { name: 'Ada' } };
      const first = await at.call('POST', '/jobs', ada, key);
      const again = await at.call('POST', '/jobs', ada, key);
      expect([first.status, again.status, again.body]).toEqual([
        201,
        200,
        { id: first.body.id, deduplicated: true },
      ]);
      const other = await at.call('POST', '/jobs', { name: 'greet', payload: { name: 'Bob' } }, key);
      expectProblem(other, 409, 'idempotency-conflict');
      const both = await at.call('POST', '/jobs', { ...ada, options: { idempotencyKey: 'order 8' } }, key);
      expectProblem(both, 422, 'request-invalid');
    });

    it('lists everything that is wrong with a dispatch, as 422', async () => {
      await using at = await openApi(name);
      const cases: [unknown, string, RegExp][] = [
        [{ name: 'greet', payload: { name: '' } }, 'payload-invalid', /name/],
        [{ name: 'greet' }, 'payload-invalid', /greet/],
        [{ name: 'gret', payload: {} }, 'job-name-unknown', /greet/],
        [{ payload: {} }, 'request-invalid', /name/],
        [{ name: 'greet', payload: { name: 'A' }, options: { prio: 1 } }, 'request-invalid', /prio/],
        [{ name: 'greet', payload: { name: 'A' }, options: { delay: 'soon' } }, 'option-invalid', /delay/],
        [{ name: 'greet', payload: { name: 'A' }, options: { tx: {} } }, 'request-invalid', /tx/],
        [
          { name: 'greet', payload: { name: 'A' }, options: { after: newJobId() } },
          'parent-not-found',
          /wait/,
        ],
        [[], 'request-invalid', /object/],
        [null, 'request-invalid', /object/],
      ];
      for (const [body, code, text] of cases) {
        const answer = await at.call('POST', '/jobs', body);
        expectProblem(answer, 422, code);
        expect(answer.body.detail).toMatch(text);
      }
      const many = await at.call('POST', '/jobs', { name: 7, options: { queue: 1, cost: 'x' } });
      expect(many.body.problems.map(({ path }: { path: string }) => path).sort()).toEqual([
        'name',
        'options.cost',
        'options.queue',
      ]);
      const rules = await at.call('POST', '/jobs', {
        name: 'greet',
        payload: { name: 'A' },
        options: { queue: 'a b', cost: 0 },
      });
      expect(rules.body.problems).toHaveLength(2);
      expect((await at.call('GET', '/jobs')).body.jobs).toEqual([]);
    });

    it('takes a page to capture, and refuses one that may not be', async () => {
      await using at = await openApi(name);
      const wish = { url: 'https://example.com/', screenshot: { type: 'webp' }, assets: true };
      const taken = await at.call('POST', '/captures', wish, { 'idempotency-key': 'one' });
      expect([taken.status, taken.headers.get('location')]).toEqual([202, `/jobs/${taken.body.id}`]);
      const again = await at.call('POST', '/captures', wish, { 'idempotency-key': 'one' });
      expect([again.status, again.body]).toEqual([200, { id: taken.body.id, deduplicated: true }]);
      const job = await at.call('GET', `/jobs/${taken.body.id}`);
      expect(job.body).toMatchObject({ name: 'page.capture', input: wish });
      expectProblem(await at.call('POST', '/captures', { url: 'http://127.0.0.1/' }), 422, 'target-refused');
      expectProblem(await at.call('POST', '/captures', { url: 'file:///etc/passwd' }), 422, 'option-invalid');
      expectProblem(
        await at.call('POST', '/captures', { url: 'https://a.b', colour: 1 }),
        422,
        'request-invalid',
      );
    });

    it('a hub without definitions takes any name, with the options of the caller', async () => {
      await using at = await openApi(name, { jobs: [] });
      const options = {
        queue: 'other',
        priority: 'high',
        attempts: 7,
        tags: ['b', 'a'],
        version: 3,
        retention: '1h',
        delay: '1h',
        unique: { key: 'k' },
        cost: 5,
        requires: ['gpu'],
        limit: { group: 'g', max: 2 },
      };
      const { body } = await at.call('POST', '/jobs', { name: 'elsewhere', payload: [1], options });
      expect((await at.call('GET', `/jobs/${body.id}`)).body).toMatchObject({
        name: 'elsewhere',
        queue: 'other',
        priority: 10,
        maxAttempts: 7,
        tags: ['a', 'b'],
        version: 3,
        retentionMs: 3_600_000,
        input: [1],
        cost: 5,
        requires: ['gpu'],
        limit: { group: 'g', key: null, max: 2 },
      });
      expectProblem(await at.call('POST', '/jobs', { name: 'a b' }), 422, 'job-name-invalid');
    });

    it('dispatches many, each waiting for others of the call, and none when one is wrong', async () => {
      await using at = await openApi(name);
      const id = newJobId();
      const jobs = [
        { name: 'greet', payload: { name: 'B' }, options: { after: id } },
        { name: 'greet', payload: { name: 'A' }, options: { id } },
      ];
      const answer = await at.call('POST', '/jobs/many', { jobs });
      expect(answer.status).toBe(201);
      expect(answer.body.jobs[1]).toEqual({ id, deduplicated: false });
      expect((await at.call('GET', `/jobs/${answer.body.jobs[0].id}`)).body.status).toBe('blocked');
      const wrong = await at.call('POST', '/jobs/many', {
        jobs: [{ name: 'greet', payload: { name: 'C' } }, { name: 'greet' }],
      });
      expectProblem(wrong, 422, 'payload-invalid');
      expect(wrong.body.details.indexes).toEqual([1]);
      expect((await at.call('GET', '/jobs')).body.jobs).toHaveLength(2);
    });
  });

  describe.skipIf(!engineAvailable(name))(`[${name}] http: looking at jobs`, () => {
    it('gives a job whole, and its end to who waits for it', async () => {
      await using at = await openApi(name);
      const { body } = await at.call('POST', '/jobs', { name: 'greet', payload: { name: 'Ada' } });
      const early = await at.call('GET', `/jobs/${body.id}/result`);
      expect([early.status, endingAnswer.parse(early.body).status]).toEqual([202, 'pending']);
      const waiting = at.call('GET', `/jobs/${body.id}/result?wait=30s`);
      await work(at.client);
      const late = await waiting;
      expect([late.status, late.body]).toEqual([
        200,
        { id: body.id, status: 'completed', result: 'Hello Ada', failures: [], reason: null },
      ]);
      const job = jobShape.parse((await at.call('GET', `/jobs/${body.id}`)).body);
      expect(job).toMatchObject({ status: 'completed', result: 'Hello Ada', input: { name: 'Ada' } });
      expect((await at.call('GET', `/jobs/${body.id}/why`)).body.reasons[0].code).toBe('completed');
    });

    it('tells the failures of a job that was buried', async () => {
      await using at = await openApi(name);
      const { body } = await at.call('POST', '/jobs', { name: 'fail', payload: null });
      await work(at.client);
      const answer = await at.call('GET', `/jobs/${body.id}/result`);
      expect(endingAnswer.parse(answer.body)).toMatchObject({
        status: 'buried',
        reason: 'attempts-exhausted',
      });
      expect(answer.body.failures[0].error.message).toBe('no way');
      expect(jobShape.parse((await at.call('GET', `/jobs/${body.id}`)).body).failures).toHaveLength(1);
    });

    it('pages through a list by its cursor, and filters it', async () => {
      await using at = await openApi(name);
      const jobs = Array.from({ length: 7 }, (_, index) => ({
        name: 'greet',
        payload: { name: `n${index}` },
        options: { queue: index < 3 ? 'other' : 'default' },
      }));
      await at.call('POST', '/jobs/many', { jobs });
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page: Answer = await at.call(
          'GET',
          `/jobs?limit=3${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        const { jobs: listed, next } = jobsPage.parse(page.body);
        seen.push(...listed.map(({ id }) => id));
        cursor = next;
      }
      expect(new Set(seen).size).toBe(7);
      expect(
        (await at.call('GET', '/jobs?queue=other&status=pending&createdAfter=2h')).body.jobs,
      ).toHaveLength(3);
      expect((await at.call('GET', `/jobs?createdAfter=${Date.now() + 3_600_000}`)).body.jobs).toHaveLength(
        0,
      );
      for (const query of [
        'limit=0',
        'limit=x',
        'limit=1&limit=2',
        'status=done',
        'colour=red',
        'queue=a%20b',
        'createdAfter=soon',
        'cursor=%00',
      ]) {
        const answer = await at.call('GET', `/jobs?${query}`);
        expect([query, answer.status]).toEqual([query, 422]);
        expect(problemShape.parse(answer.body).problems).toHaveLength(1);
      }
    });

    it('what is not there is a 404, what is no id a 422', async () => {
      await using at = await openApi(name);
      for (const path of ['', '/why', '/result']) {
        expectProblem(await at.call('GET', `/jobs/${newJobId()}${path}`), 404, 'job-not-found');
        expectProblem(await at.call('GET', `/jobs/nonsense${path}`), 422, 'option-invalid');
      }
      expect((await at.call('GET', `/jobs/${newJobId()}/log`)).body).toEqual({ lines: [] });
    });

    it('shows workers, queues and limits', async () => {
      await using at = await openApi(name);
      await at.call('POST', '/jobs', {
        name: 'greet',
        payload: { name: 'Ada' },
        options: { limit: { group: 'g', max: 1 } },
      });
      await using worker = at.client.worker({ queues: ['nothing'] });
      await worker.start();
      const listed = async () => workersAnswer.parse((await at.call('GET', '/workers')).body).workers;
      const [shown] = await waitFor(
        async () => {
          const workers = await listed();
          return workers[0]?.state === 'RUNNING' && workers;
        },
        { describe: 'the worker to be RUNNING in the list', deadlineMs: 20_000 },
      );
      expect(shown).toMatchObject({
        id: worker.id,
        status: 'active',
        alive: true,
        routable: true,
        restarts: 0,
      });
      expect((await at.call('GET', `/workers/${worker.id}`)).body.id).toBe(worker.id);
      expect((await at.call('GET', `/workers/${worker.id}/why`)).body.reasons[0].code).toBe('nothing-due');
      expectProblem(await at.call('GET', '/workers/w-none'), 404, 'worker-not-found');
      expect((await at.call('GET', '/stats')).body.queues[0]).toMatchObject({ queue: 'default', pending: 1 });
      expect((await at.call('GET', '/stats?queue=default')).body.queues).toHaveLength(1);
      expect((await at.call('GET', '/limits')).body.limits[0]).toMatchObject({ group: 'g', waiting: 1 });
    });
  });
}
