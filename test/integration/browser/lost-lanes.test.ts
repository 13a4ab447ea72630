import { rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type BrowserJobContext, defineJob, Millrace } from '../../../src/index.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { chromes } from '../../support/chrome.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const look = defineJob('look', {
  lane: 'browser',
  run: ({ tab }: BrowserJobContext<Record<string, never>>) => tab.evaluate<number>('6 * 7'),
});

/** A Chrome that starts only while a file is not there. */
async function fragileChrome(folder: { file(name: string): string }) {
  const real = await (chromes[0] as (typeof chromes)[number]).find();
  const executable = folder.file('chrome');
  const broken = folder.file('broken');
  const libraries = real.libraries === null ? '' : `LD_LIBRARY_PATH=${real.libraries} `;
  const script = `#!/bin/sh\n[ -e ${broken} ] && exit 1\n${libraries}exec ${real.executable} "$@"\n`;
  await writeFile(executable, script, { mode: 0o755 });
  return {
    executable,
    breakIt: () => writeFile(broken, ''),
    mendIt: () => rm(broken),
  };
}

test('a worker whose browser lanes stay in quarantine makes room for a fresh one', {
  timeout: 150_000,
}, async () => {
  await using folder = tempDir('fragile-chrome');
  const chrome = await fragileChrome(folder);
  const lines: string[] = [];
  const say = (message: string): void => void lines.push(message);
  await using millrace = new Millrace({
    database: 'memory:',
    jobs: [look],
    logger: { debug: () => undefined, info: say, warn: say, error: say },
    settings: resolveSettings({
      config: { chromePath: chrome.executable, heartbeat: '1s', staleTimeout: '3s' },
    }).values,
  });
  const steps: string[] = [];
  const unhealthy: string[] = [];
  millrace.on('lane:step', ({ step }) => steps.push(step));
  millrace.on('worker:unhealthy', ({ reason }) => unhealthy.push(reason));
  const worker = millrace.worker({ browserLanes: 1 });
  await worker.start();
  const first = await millrace.dispatch(look, {});
  expect(await first.result({ timeout: '20s' })).toBe(42);
  const { incarnation } = worker;

  await chrome.breakIt();
  const lane = async () =>
    (await millrace.workers())[0]?.lanes.find(({ kind, pid }) => kind === 'browser' && pid !== null);
  const pid = (await waitFor(lane, { describe: 'the pid of its Chrome' })).pid ?? 0;
  process.kill(pid, 'SIGKILL');
  await waitFor(() => steps.includes('quarantine'), { describe: 'quarantine', deadlineMs: 30_000 });
  const told = await waitFor(
    async () => {
      const why = await millrace.whyWorker(worker.id);
      return why?.reasons.find(
        ({ code, numbers }) => code === 'lanes-unwell' && numbers['quarantined'] === 1,
      );
    },
    { describe: 'why to say so' },
  );
  expect(told.sentence).toMatch(/browser lane 1: its Chrome exited/);
  const [registered] = await millrace.workers();
  expect(registered?.details['laneSteps']).toMatchObject({ restart: 2, quarantine: 1 });

  await waitFor(() => lines.some((line) => line.startsWith('recycle:')), {
    describe: 'its recycle',
    deadlineMs: 60_000,
    intervalMs: 100,
  });
  await chrome.mendIt();
  expect(lines).toContain('recycle: browser lanes: 1 of 1 quarantined for 30s, draining');
  expect(steps).toContain('recycle-worker');
  expect(unhealthy).toEqual(['browser lanes: 1 of 1 quarantined for 30s']);
  await waitFor(() => worker.incarnation !== incarnation && worker.lifecycle === 'RUNNING', {
    describe: 'a fresh incarnation',
    deadlineMs: 60_000,
  });
  const second = await millrace.dispatch(look, {});
  expect(await second.result({ timeout: '60s' })).toBe(42);
});
