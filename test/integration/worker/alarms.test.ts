import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { numbersOf } from '../../../src/client/why-worker.js';
import type { Storage } from '../../../src/storage/storage.js';
import { RunningAttempts } from '../../../src/worker/running-attempts.js';
import { openEngine } from '../../support/engines.js';
import { act } from '../../support/lane-jobs.mjs';
import { waitFor } from '../../support/wait-for.js';

const module = pathToFileURL(fileURLToPath(new URL('../../support/lane-module.mjs', import.meta.url))).href;
/** Heartbeats each second. */
const settings = { heartbeat: '1s', staleTimeout: '3s', databaseTimeout: '1s' } as const;

/** What a client told by its log and its events. */
function listening() {
  const lines: string[] = [];
  const unhealthy: string[] = [];
  const say = (message: string): void => void lines.push(message);
  const logger = { debug: () => undefined, info: say, warn: say, error: say };
  const listen = (millrace: Millrace): void =>
    void millrace.on('worker:unhealthy', ({ reason }) => void unhealthy.push(reason));
  return { lines, unhealthy, logger, listen };
}

async function told(millrace: Millrace, id: string, code: string): Promise<void> {
  await waitFor(
    async () => (await millrace.whyWorker(id))?.reasons.some((reason) => reason.code === code) === true,
    { describe: `why to say ${code}`, deadlineMs: 20_000, intervalMs: 100 },
  );
}

/** Storage whose wake-ups can be lost. */
function deafStorage(storage: Storage): { storage: Storage; hears: boolean } {
  const state = { storage, hears: false };
  state.storage = new Proxy(storage, {
    get(target, key) {
      const value = Reflect.get(target, key) as unknown;
      if (typeof value !== 'function') return value;
      if (key !== 'watch') return value.bind(target) as unknown;
      return (onWake: (queues: readonly string[] | null) => void) =>
        target.watch((queues) => {
          if (state.hears) onWake(queues);
        });
    },
  });
  return state;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('[memory] worker: an alarm', () => {
  it('says that jobs are found by the poll alone, until a wake-up comes', async () => {
    await using engine = await openEngine('memory');
    const deaf = deafStorage(engine.storage);
    const { lines, unhealthy, logger, listen } = listening();
    const job = defineJob('quick', { run: () => undefined });
    await using millrace = new Millrace({
      ...{ database: deaf.storage, jobs: [job], logger, workerSleep: '20ms' },
      ...settings,
    });
    listen(millrace);
    await using worker = millrace.worker();
    await worker.start();
    const runOne = async (): Promise<void> => {
      const handle = await millrace.dispatch(job);
      await waitFor(async () => (await handle.job())?.status === 'completed', {
        describe: 'the poll to find it',
      });
    };
    await waitFor(
      async () => {
        await runOne();
        return unhealthy.length > 0;
      },
      { describe: 'the alarm', deadlineMs: 20_000 },
    );
    expect(unhealthy).toEqual([expect.stringMatching(/^polls-alone: .*found by the poll alone/)]);
    expect(lines).toContainEqual(expect.stringMatching(/^alarm polls-alone: /));
    await told(millrace, worker.id, 'polls-alone');
    deaf.hears = true;
    await runOne();
    await waitFor(() => lines.includes('alarm polls-alone is over'), { describe: 'the end of it' });
    await runOne();
    await waitFor(
      async () => {
        const [listed] = await millrace.workers();
        const found = numbersOf(listed?.details['found']);
        return (found['poll'] ?? 0) >= 10 && (found['push'] ?? 0) > 0;
      },
      { describe: 'both ways to be counted' },
    );
    expect(unhealthy).toHaveLength(1);
  }, 60_000);

  it('says that a slot is lost where a path no longer ends its job', async () => {
    await using engine = await openEngine('memory');
    const { lines, unhealthy, logger, listen } = listening();
    await using millrace = new Millrace({ database: engine.storage, jobs: [act], logger, ...settings });
    listen(millrace);
    await using worker = millrace.worker({ module, processLanes: 1 });
    await worker.start();
    const runOne = async () =>
      await (await millrace.dispatch(act, { do: 'echo' })).result({ timeout: '20s' });
    await runOne();
    // The planted fault: the lane is done with its job, and who counts what runs never hears of it.
    const forget = vi.spyOn(RunningAttempts.prototype, 'delete').mockImplementation(() => undefined);
    await runOne();
    forget.mockRestore();
    await waitFor(() => unhealthy.length > 0, { describe: 'the alarm', deadlineMs: 20_000 });
    expect(unhealthy).toEqual([
      'slots-overrun: 1 jobs are counted as running in process lanes, of which 0 have a job',
    ]);
    expect(lines).toContainEqual(expect.stringMatching(/^alarm slots-overrun: /));
    await told(millrace, worker.id, 'slots-overrun');
    await worker.stop({ deadlineMs: 100 });
  }, 60_000);

  it('says that a program is near the memory it may use, which only its owner can renew', async () => {
    await using engine = await openEngine('memory');
    const { unhealthy, logger, listen } = listening();
    const release: (() => void)[] = [];
    const job = defineJob('hungry', {
      run: () => new Promise<void>((resolve) => void release.push(resolve)),
    });
    await using millrace = new Millrace({
      ...{ database: engine.storage, jobs: [job], logger, resourceMemoryHeadroomMb: 1_048_576 },
      ...settings,
    });
    listen(millrace);
    await using worker = millrace.worker({ concurrency: 5 });
    await millrace.dispatch(job);
    await millrace.dispatch(job);
    await worker.start();
    await waitFor(() => unhealthy.length > 0, { describe: 'the alarm', deadlineMs: 20_000 });
    expect(unhealthy).toEqual([expect.stringMatching(/^own-memory: the worker uses \d+ MB of the \d+ MB/)]);
    expect(release).toHaveLength(1);
    await told(millrace, worker.id, 'own-memory');
    const [listed] = await millrace.workers();
    expect(listed?.details['denied']).toMatchObject({ 'own-memory': 1 });
    for (const resolve of release) resolve();
  }, 60_000);
});
