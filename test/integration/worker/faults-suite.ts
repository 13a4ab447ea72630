import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { MillraceError } from '../../../src/internal/errors.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import type { Storage } from '../../../src/storage/storage.js';
import { openEngine } from '../../support/engines.js';
import { type Fault, faultyStorage } from '../../support/faulty-storage.js';

const settings = {
  workerSleep: '100ms',
  staleTimeout: '3s',
  heartbeat: '500ms',
  killGrace: '100ms',
} as const;
const calls = [
  'claim',
  'settle',
  'exchange',
  'markStarted',
  'renew',
  'held',
  'peek',
  'heartbeat',
  'register',
] as const;

/** Whatever call fails, before or after it was committed: each job is run once and settled once. */
export function faultsSuite(engine: Engine): void {
  const run = async (arrange: (faulty: ReturnType<typeof faultyStorage>) => void, jobs = 40) => {
    await using fixture = await openEngine(engine);
    const faulty = faultyStorage(fixture.storage);
    const runs = new Map<string, number>();
    const count = defineJob('count', {
      run: async ({ job, input }: { job: { id: string }; input: { fail?: boolean } }) => {
        runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
        await new Promise((resolve) => setImmediate(resolve));
        if (input.fail === true) throw new Error('as asked');
        return 'done';
      },
      attempts: 1,
    });
    await using millrace = new Millrace({ database: faulty.storage, jobs: [count], ...settings });
    arrange(faulty);
    await using worker = millrace.worker({ concurrency: 4 });
    await worker.start();
    const handles = await millrace.dispatchMany(
      Array.from({ length: jobs }, (_, index) => ({ job: count, input: { fail: index % 4 === 0 } })),
    );
    const endings = await Promise.allSettled(handles.map((handle) => handle.result({ timeout: '20s' })));
    await worker.idle();
    return { runs, endings, state: worker.lifecycle, held: await fixture.storage.held(worker.incarnation) };
  };

  const expectOnce = ({ runs, endings, held, state }: Awaited<ReturnType<typeof run>>, jobs = 40): void => {
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    expect(runs.size).toBe(jobs);
    expect(endings.filter(({ status }) => status === 'fulfilled')).toHaveLength((jobs * 3) / 4);
    expect(held).toEqual([]);
    expect(state).toBe('RUNNING');
  };

  describe(`[${engine}] worker under faults`, () => {
    for (const fault of ['before', 'after'] satisfies Fault[]) {
      for (const method of calls) {
        it(`runs each job once when ${method} fails three times ${fault} its commit`, {
          timeout: 30_000,
        }, async () => {
          expectOnce(await run((faulty) => faulty.fail(method, [fault, fault, fault])));
        });
      }
    }

    it('tells a handler that asks for its lease nothing bad while storage does not answer', async () => {
      await using fixture = await openEngine(engine);
      const faulty = faultyStorage(fixture.storage);
      const answers: boolean[] = [];
      const ask = defineJob('ask', {
        attempts: 1,
        run: async ({ heartbeat }) => {
          faulty.fail('renew', ['before', 'after']);
          answers.push(await heartbeat(), await heartbeat(), await heartbeat());
        },
      });
      await using millrace = new Millrace({ database: faulty.storage, jobs: [ask], ...settings });
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(ask, undefined);
      await handle.result({ timeout: '10s' });
      expect(answers).toEqual([true, true, true]);
    });

    it('settles the rest of a batch of which storage refuses one row for good', {
      timeout: 30_000,
    }, async () => {
      const refuse = (): Error => new MillraceError('query-failed', 'a value was refused by a test');
      const outcome = await run((faulty) => {
        faulty.fail('exchange', Array<Fault>(3).fill('before'), refuse);
        faulty.fail('settle', ['before'], refuse);
      });
      expectOnce(outcome);
    });

    it('stops in its time although storage no longer answers', { timeout: 30_000 }, async () => {
      await using fixture = await openEngine(engine);
      const faulty = faultyStorage(fixture.storage);
      const quick = defineJob('quick', { run: () => 1 });
      const millrace = new Millrace({ database: faulty.storage, jobs: [quick], ...settings });
      const worker = millrace.worker();
      await worker.start();
      const everything: readonly (keyof Storage)[] = [
        ...calls,
        'unregister',
        'pausedQueues',
        'now',
        'takeDuty',
        'tidy',
      ];
      for (const method of everything) faulty.fail(method, Array<Fault>(50).fill('hang'));
      const startedAt = performance.now();
      await worker.stop({ deadlineMs: 200 });
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      expect(worker.lifecycle).toBe('EXIT');
    });
  });
}
