import { describe, expect, test } from 'vitest';
import { inClaimOrder } from '../../src/storage/choose-jobs.js';
import { type JobLimit, noBudgets } from '../../src/storage/job-limit.js';
import type { Storage } from '../../src/storage/storage.js';
import { openEngine } from '../support/engines.js';
import { runSequence } from './model-suite.js';

type Calls = Partial<{ [Method in keyof Storage]: Storage[Method] }>;

/** Faults an engine could well have, each in one call. */
const faults: Record<string, (inner: Storage) => Calls> = {
  'a put-back that is charged': (inner) => ({
    settle: (settlements) =>
      inner.settle(
        settlements.map((one) => (one.kind === 'put-back' ? { ...one, kind: 'retry', errors: '[]' } : one)),
      ),
  }),
  'a repeated claim that takes more': (inner) => ({
    claim: async (request) => {
      const first = await inner.claim(request);
      const [take] = request.takes;
      const left = (take?.limit ?? 0) - first.length;
      return take !== undefined && left > 0 && first.length > 0 && !request.alone
        ? [
            ...first,
            ...(await inner.claim({
              ...request,
              token: `${request.token.slice(0, 31)}f`,
              takes: [{ ...take, limit: left }],
            })),
          ]
        : first;
    },
  }),
  'a settlement that is lost': (inner) => ({
    settle: async (settlements) => {
      const [, ...rest] = settlements;
      const outcomes = await inner.settle(settlements.length > 2 ? rest : settlements);
      return settlements.length > 2 ? ['done', ...outcomes] : outcomes;
    },
  }),
  'priorities that are not looked at': (inner) => ({
    enqueue: (jobs) => inner.enqueue(jobs.map((job) => ({ ...job, priority: 0 }))),
  }),
  'a unique key that is not taken': (inner) => ({
    enqueue: (jobs) =>
      inner.enqueue(jobs.map((job) => (job.unique?.scope === 'period' ? { ...job, unique: null } : job))),
  }),
  'an operator who may retry anything but is told it is not allowed': (inner) => ({
    retry: async (id) => {
      const outcome = await inner.retry(id);
      return outcome === 'done' ? 'not-allowed' : outcome;
    },
  }),
  'a decision of the rescuer that is not guarded by the lease end it saw': (inner) => ({
    takeBack: async (decisions) => {
      const guarded = await Promise.all(
        decisions.map(async (one) => ({
          ...one,
          leaseUntilMs: (await inner.job(one.id))?.leaseUntilMs ?? one.leaseUntilMs,
        })),
      );
      return inner.takeBack(guarded);
    },
  }),
  'a limit that lets one more run than it says': (inner) => ({
    enqueue: (jobs) =>
      inner.enqueue(jobs.map((job) => ({ ...job, limit: withMax(job.limit, (max) => max + 1) }))),
    job: async (id) => {
      const job = await inner.job(id);
      return job === null ? null : { ...job, limit: withMax(job.limit, (max) => max - 1) };
    },
  }),
  'labels that are not looked at': (inner) => ({
    claim: (request) => inner.claim({ ...request, labels: ['eu', 'gpu'] }),
  }),
  'a budget that is forgotten': (inner) => ({
    claim: (request) => inner.claim({ ...request, budgets: noBudgets }),
    exchange: (settlements, request) => inner.exchange(settlements, { ...request, budgets: noBudgets }),
  }),
  'a take that is left out': (inner) => ({
    claim: (request) => inner.claim({ ...request, takes: request.takes.slice(0, 1) }),
  }),
  'keys that take no turns': (inner) => ({
    claim: async (request) => {
      const claimed = await inner.claim(request);
      for (const [index, job] of claimed.entries()) {
        const next = claimed[index + 1];
        if (next === undefined || next.queue !== job.queue || next.limit?.group !== job.limit?.group)
          continue;
        if (inClaimOrder(next, job) < 0) claimed.splice(index, 2, next, job);
      }
      return claimed;
    },
  }),
  'a death of a lane that is charged': (inner) => ({
    settle: (settlements) =>
      inner.settle(settlements.map((one) => (one.kind === 'died' ? { ...one, kind: 'retry' } : one))),
  }),
  'a purge that forgets the age': (inner) => ({
    purge: (request) => inner.purge({ ...request, olderThanMs: 0 }),
  }),
  'a page of a list that is left out': (inner) => ({
    jobs: async (filter, page) => {
      const answer = await inner.jobs(filter, page);
      return page.cursor === undefined ? answer : { ...answer, jobs: answer.jobs.slice(1) };
    },
  }),
  'an edit that leaves the job in its old place': (inner) => ({
    edit: (id, { priority: _, ...edit }) => inner.edit(id, edit),
  }),
  'a change of many that does not look at the status': (inner) => ({
    changeMany: ({ change, ids }) => inner.changeMany({ change, ids }),
  }),
  'a list by tag that does not tell capitals apart': (inner) => ({
    jobs: ({ tag, ...filter }, page) =>
      inner.jobs(tag === undefined ? filter : { ...filter, tag: tag.toLowerCase() }, page),
  }),
  'a count of what stands before a job that counts the job itself': (inner) => ({
    ahead: async (id) => {
      const ahead = await inner.ahead(id);
      return ahead === null ? null : ahead + 1;
    },
  }),
  'a pause that does not hold': (inner) => ({
    setPaused: (queue, paused) => inner.setPaused(queue, paused && queue.endsWith('a')),
  }),
};

function withMax(limit: JobLimit | null, change: (max: number) => number): JobLimit | null {
  return limit === null || limit.max === null ? limit : { ...limit, max: change(limit.max) };
}

describe('[memory] the model finds planted faults', () => {
  for (const [what, plant] of Object.entries(faults)) {
    test(`finds ${what}`, async () => {
      const found: string[] = [];
      for (let seed = 1; seed <= 200 && found.length === 0; seed += 1) {
        await using engine = await openEngine('memory');
        const failed = await runSequence(
          withCalls(engine.storage, plant(engine.storage)),
          engine.clock,
          seed,
        );
        if (failed !== null && failed !== 'tied') found.push(failed.difference.what);
      }
      expect(found).toHaveLength(1);
    });
  }
});

function withCalls(inner: Storage, calls: Calls): Storage {
  return new Proxy(inner, {
    get(target, property) {
      const own: unknown = Reflect.get(calls, property);
      const value: unknown = own ?? Reflect.get(target, property, target);
      return typeof value === 'function' && own === undefined ? value.bind(target) : value;
    },
  });
}
