import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { type BrowserJobContext, defineJob, Millrace } from '../../../src/index.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { chromes } from '../../support/chrome.js';
import { smallDisk } from '../../support/small-disk.js';
import { waitFor } from '../../support/wait-for.js';

afterEach(() => void vi.unstubAllEnvs());

test('lanes whose disk is full take no jobs, touch none that runs, and take them again', {
  timeout: 150_000,
}, async ({ skip }) => {
  await using disk = smallDisk(256);
  if (disk === null) return skip('this user can’t mount a file system');
  // Unpacked where it is always, not on the small disk.
  await (chromes[0] as (typeof chromes)[number]).find();
  vi.stubEnv('TMPDIR', disk.path);
  let mayEnd = false;
  const look = defineJob('look', {
    lane: 'browser',
    run: ({ tab }: BrowserJobContext<Record<string, never>>) => tab.evaluate<number>('6 * 7'),
  });
  const stay = defineJob('stay', {
    lane: 'browser',
    timeout: '2m',
    async run({ tab }: BrowserJobContext<Record<string, never>>) {
      await waitFor(() => mayEnd, { describe: 'the test to let it end', deadlineMs: 100_000 });
      return await tab.evaluate<number>('6 * 7');
    },
  });
  const lines: string[] = [];
  const say = (message: string): void => void lines.push(message);
  await using millrace = new Millrace({
    database: 'memory:',
    jobs: [look, stay],
    logger: { debug: () => undefined, info: say, warn: say, error: say },
    settings: resolveSettings({ config: { heartbeat: '1s', staleTimeout: '3s' } }).values,
  });
  const worker = millrace.worker({ browserLanes: 2 });
  await worker.start();
  const why = async (): Promise<readonly string[]> =>
    ((await millrace.whyWorker(worker.id))?.reasons ?? []).map(({ code }) => code);
  const first = await millrace.dispatch(look, {});
  expect(await first.result({ timeout: '30s' })).toBe(42);

  // It fills up while a job runs.
  const running = await millrace.dispatch(stay, {});
  await waitFor(async () => (await running.job())?.status === 'processing', { describe: 'the job to run' });
  disk.fillTo(0.96);
  await waitFor(async () => (await why()).includes('disk-full'), {
    describe: 'why to say so',
    deadlineMs: 60_000,
    intervalMs: 100,
  });
  const refused = await millrace.dispatch(look, {});
  const [registered] = await millrace.workers();
  expect(registered?.details['browser']).toMatchObject({
    disk: {
      state: 'shut',
      usedPercent: expect.any(Number),
      foldersMb: [expect.any(Number), expect.any(Number)],
    },
  });
  const states = registered?.lanes.filter(({ kind }) => kind === 'browser').map(({ state }) => state);
  expect(states?.toSorted()).toEqual(['busy', 'shut']);
  const busy = registered?.lanes.find(({ state }) => state === 'busy');

  // What runs goes on, in the folder it has.
  expect((await running.job())?.status).toBe('processing');
  const root = join(disk.path, `millrace-${process.getuid?.()}`);
  const lanes = readdirSync(root).filter((name) => name.startsWith('lanes-'));
  expect(lanes).toHaveLength(1);
  expect(existsSync(join(root, lanes[0] ?? '', `lane-${busy?.number}-1`, 'profile'))).toBe(true);
  expect(busy?.restarts).toBe(0);
  mayEnd = true;
  expect(await running.result({ timeout: '20s' })).toBe(42);
  expect((await refused.job())?.status).toBe('pending');

  const told = await waitFor(
    async () => (await millrace.why(refused.id))?.reasons.find(({ code }) => code.includes('lane'))?.sentence,
    { describe: 'why of the job to say so' },
  );
  expect(told).toMatch(/browser lane.*lane \d: the disk of/);

  disk.fillTo(0.5);
  expect(await refused.result({ timeout: '30s' })).toBe(42);
  await waitFor(async () => !(await why()).includes('disk-full'), { describe: 'the alarm to be over' });
  expect(lines).toContainEqual(
    expect.stringMatching(/^browser lanes: the disk of .+ is \d+ % full with \d+ MB free/),
  );
  expect(lines).toContain('browser lanes: there is room again, jobs are taken');
  await worker.stop();
});
