import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import type { WorkerOptions } from '../../../src/worker/worker-options.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { act, actBriefly, actInline, actSoon } from '../../support/lane-jobs.mjs';
import { makeNotes, readNotes } from '../../support/lane-user-database.mjs';
import { quietStderr } from '../../support/quiet-stderr.js';
import { waitFor } from '../../support/wait-for.js';

const module = pathToFileURL(fileURLToPath(new URL('../../support/lane-module.mjs', import.meta.url)));
const waiting = { timeout: '60s' } as const;
const longTest = 90_000;

/** A worker with process lanes on one engine. Its children know the database by the environment, as applications do. */
async function openStage(engine: Engine, options: WorkerOptions = {}) {
  const quiet = quietStderr();
  const database = await emptyDatabase(engine);
  process.env['MILLRACE_TEST_LANE_DATABASE'] = database.address;
  const jobs: readonly JobDefinition[] = [act, actBriefly, actSoon, actInline] as never;
  const millrace = new Millrace({
    database: database.address,
    jobs,
    migrate: 'auto',
    workerSleep: '200ms',
    killGrace: '200ms',
  });
  const worker = millrace.worker({ module, processLanes: 2, ...options });
  await worker.start();
  const job = async (id: string) => {
    const found = await millrace.job(id);
    if (found === null) throw new Error(`job ${id} is gone`);
    return found;
  };
  return {
    millrace,
    worker,
    address: database.address,
    do: (what: string, more: object = {}) => millrace.dispatch('act', { do: what, ...more }),
    job,
    untilJob: (id: string, status: string) =>
      waitFor(async () => (await job(id)).status === status, {
        describe: `job to be ${status}`,
        deadlineMs: 60_000,
      }),
    untilRunning: (id: string) =>
      waitFor(async () => (await millrace.log(id)).length > 0 || (await job(id)).status === 'processing', {
        describe: 'the job to run',
        deadlineMs: 60_000,
      }),
    [Symbol.asyncDispose]: async () => {
      await worker.stop({ deadlineMs: 0 });
      await millrace.close();
      await database[Symbol.asyncDispose]();
      quiet[Symbol.dispose]();
    },
  };
}

/** What holds of jobs in process lanes, on every engine. */
export function lanesSuite(engine: Engine): void {
  describe.skipIf(!engineAvailable(engine))(
    `[${engine}] jobs in process lanes`,
    { timeout: longTest },
    () => {
      it('run in children beside inline jobs, with log, progress and dispatch of the worker', async () => {
        await using stage = await openStage(engine);
        const inline = await stage.millrace.dispatch('act-inline', { do: 'pid' });
        const handles = await Promise.all([stage.do('pid'), stage.do('pid'), stage.do('pid')]);
        expect(await inline.result(waiting)).toBe(process.pid);
        const pids = await Promise.all(handles.map((handle) => handle.result(waiting)));
        expect(pids).not.toContain(process.pid);
        const logging = await stage.do('log', { text: 'from a lane' });
        await logging.result(waiting);
        await waitFor(async () => (await stage.millrace.log(logging.id)).length >= 3, {
          describe: 'the lines',
        });
        expect((await stage.millrace.log(logging.id)).map(({ kind, text }) => [kind, text])).toEqual([
          ['log', 'from a lane {"n":1,"big":"2"}'],
          ['progress', '{"done":1,"total":2,"note":"half"}'],
          ['progress', '{"done":2,"total":2,"note":"whole"}'],
        ]);
        const parent = await stage.do('dispatch', { input: { do: 'echo', n: 7 } });
        const child = (await parent.result(waiting)) as string;
        expect(await stage.millrace.handle(child).result(waiting)).toEqual({ do: 'echo', n: 7 });
        const text = 'ä'.repeat(500_000);
        expect(await (await stage.do('echo', { text })).result(waiting)).toEqual({ do: 'echo', text });
      });

      it('that spin are killed when their time is over, and charged', async () => {
        await using stage = await openStage(engine);
        const spinning = await stage.millrace.dispatch('act-briefly', { do: 'spin' });
        await stage.untilJob(spinning.id, 'buried');
        expect(await stage.job(spinning.id)).toMatchObject({
          attempts: 1,
          deaths: 0,
          reason: 'attempts-exhausted',
          failures: [{ kind: 'timed-out', error: { code: 'attempt-timed-out' } }],
        });
        expect(await (await stage.do('echo')).result(waiting)).toEqual({ do: 'echo' });
      });

      it('that spin are killed when they are cancelled, and are cancelled', async () => {
        await using stage = await openStage(engine);
        const spinning = await stage.do('spin');
        await stage.untilRunning(spinning.id);
        expect(await spinning.cancel()).toBe('requested');
        await stage.untilJob(spinning.id, 'cancelled');
        expect(await stage.job(spinning.id)).toMatchObject({ attempts: 0, deaths: 0 });
      });

      it('that take their lane along count a death each and are buried as poison by the third, with the first error kept', async () => {
        await using stage = await openStage(engine);
        const neighbours = await stage.millrace.dispatchMany(
          Array.from({ length: 5 }, () => ({ job: 'act-inline', input: { do: 'wait', ms: 300 } })),
        );
        const poison = await stage.do('abort');
        // The backoff of deaths is 5 s and more: an operator does not wait for it. A job that no longer waits is left alone.
        const hasten = () => void stage.millrace.edit(poison.id, { delay: 0 }).catch(() => undefined);
        const nudge = setInterval(hasten, 300);
        try {
          await stage.untilJob(poison.id, 'buried');
        } finally {
          clearInterval(nudge);
        }
        const buried = await stage.job(poison.id);
        expect(buried).toMatchObject({ reason: 'poison', attempts: 0, deaths: 3 });
        expect(buried.failures.map(({ kind }) => kind)).toEqual(['died', 'died', 'poison']);
        expect(buried.failures[0]?.error.message).toContain('SIGABRT');
        for (const neighbour of neighbours) await neighbour.result(waiting);
        for (const { id } of neighbours)
          expect(await stage.job(id)).toMatchObject({ deaths: 0, attempts: 0 });
      });

      it('go back uncharged when the worker stops and they do not end in time', async () => {
        await using stage = await openStage(engine);
        const deaf = await stage.do('wait-deaf');
        await stage.untilRunning(deaf.id);
        await stage.worker.stop({ deadlineMs: 0 });
        expect(await stage.job(deaf.id)).toMatchObject({ status: 'pending', attempts: 0, deaths: 0 });
      });

      it.skipIf(engine === 'memory')('settle inside their own transaction: both or neither', async () => {
        await using stage = await openStage(engine);
        await makeNotes(stage.address);
        const both = await stage.do('settle', { note: 'both', value: { by: 'tx' } });
        expect(await both.result(waiting)).toEqual({ by: 'tx' });
        const neither = await stage.do('settle', { note: 'neither', rollback: true, after: 'pid' });
        expect(await neither.result(waiting)).toEqual(expect.any(Number));
        expect(await readNotes(stage.address)).toEqual(['both']);
        const { completed } = await stage.millrace.stats('default');
        expect(completed).toBe(2);
      });

      it.skipIf(engine === 'memory')(
        'that settled inside their own transaction stay completed, whatever comes after',
        async () => {
          await using stage = await openStage(engine);
          await makeNotes(stage.address);
          for (const after of ['abort', 'throw', 'exit']) {
            const settled = await stage.do('settle', { note: after, value: after, after });
            expect(await settled.result(waiting)).toBe(after);
          }
          const spun = await stage.millrace.dispatch('act-soon', {
            do: 'settle',
            note: 'spin',
            value: 1,
            after: 'spin',
          });
          expect(await spun.result(waiting)).toBe(1);
          await waitFor(() => stage.worker.running === 0, {
            describe: 'all lanes to be free',
            deadlineMs: 60_000,
          });
          expect(await stage.job(spun.id)).toMatchObject({ status: 'completed', attempts: 0, deaths: 0 });
          expect(await readNotes(stage.address)).toEqual(['abort', 'exit', 'spin', 'throw']);
        },
      );
    },
  );
}
