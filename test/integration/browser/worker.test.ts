import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type BrowserJobContext, defineJob, Millrace } from '../../../src/index.js';
import { silentLogger as logger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { chromes } from '../../support/chrome.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const look = defineJob('look', {
  lane: 'browser',
  async run({ cdp, input }: BrowserJobContext<{ sum: string }>) {
    const { result } = await cdp.send<{ result: { value: number } }>('Runtime.evaluate', {
      expression: input.sum,
    });
    return result.value;
  },
});
const appear = defineJob('appear', {
  lane: 'browser',
  browser: (input) => ({
    viewport: { width: 390, height: 844 },
    locale: 'de-DE',
    timeZone: input.timeZone,
    userAgent: 'Test/1 (+https://example.com)',
  }),
  run: ({ tab }: BrowserJobContext<{ timeZone: string }>) =>
    tab.evaluate<string>(
      '[innerWidth, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent].join()',
    ),
});
const visit = defineJob('visit', {
  lane: 'browser',
  attempts: 1,
  async run({ tab, input }: BrowserJobContext<{ url: string }>) {
    await tab.goto(input.url);
    return tab.text();
  },
});
const light = defineJob('light', { run: () => 'light' });

const open = (chromePath: string) =>
  new Millrace({
    database: 'memory:',
    jobs: [look, appear, light],
    logger,
    settings: resolveSettings({ config: { chromePath } }).values,
  });

test('a job with lane "browser" runs beside a Chrome of the worker, which ends with it', {
  timeout: 60_000,
}, async () => {
  await using millrace = open('auto');
  const worker = millrace.worker({ browserLanes: 1 });
  await worker.start();
  const handle = await millrace.dispatch(look, { sum: '6 * 7' });
  expect(await handle.result({ timeout: '20s' })).toBe(42);
  const given = await millrace.dispatch(appear, { timeZone: 'Asia/Tokyo' });
  expect(await given.result({ timeout: '20s' })).toBe('390,de-DE,Asia/Tokyo,Test/1 (+https://example.com)');
  const wrong = await millrace.dispatch(appear, { timeZone: 'Mars/Base' }, { attempts: 1 });
  await expect(wrong.result({ timeout: '20s' })).rejects.toThrow('option "browser.timeZone"');
  const [registered] = await waitFor(
    async () => {
      const workers = await millrace.workers();
      return workers.some(({ lanes }) => lanes.some(({ kind }) => kind === 'browser')) ? workers : null;
    },
    { describe: 'the worker to tell of its browser lane' },
  );
  const lane = registered?.lanes.find(({ kind }) => kind === 'browser');
  expect(lane).toMatchObject({ number: 1, state: 'idle' });
  expect(registered?.details['browser']).toMatchObject({
    chrome: expect.stringMatching(/Chrome\/\d+/),
    sandbox: expect.any(Boolean),
  });
  await worker.stop();
  await waitFor(() => !existsSync(`/proc/${lane?.pid}`), { describe: 'its Chrome to be gone' });
});

test('a page of a worker reaches this machine only where its operator allows it', {
  timeout: 60_000,
}, async () => {
  const server = createServer((_, response) => response.end('of this machine'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const outcomes: string[] = [];
  for (const browserPrivateTargets of ['none', `127.0.0.1:${port}`]) {
    await using millrace = new Millrace({
      ...{ database: 'memory:', jobs: [visit], logger },
      settings: resolveSettings({ config: { browserPrivateTargets } }).values,
    });
    await using worker = millrace.worker({ browserLanes: 1 });
    await worker.start();
    const handle = await millrace.dispatch(visit, { url: `http://127.0.0.1:${port}/` });
    outcomes.push(
      await handle.result({ timeout: '20s' }).then(
        (text) => text as string,
        (error: unknown) => String(error),
      ),
    );
  }
  server.close();
  expect(outcomes).toEqual([
    expect.stringContaining('127.0.0.1 is not of the public internet'),
    'of this machine',
  ]);
});

describe('without a Chrome', () => {
  test('a worker runs everything else, and says what it lacks', async () => {
    await using millrace = open('/nowhere/chrome');
    const worker = millrace.worker({ browserLanes: 'auto' });
    await worker.start();
    const waiting = await millrace.dispatch(look, { sum: '1' });
    const other = await millrace.dispatch(light);
    expect(await other.result({ timeout: '10s' })).toBe('light');
    const told = await waitFor(
      async () => {
        const why = await millrace.why(waiting.id);
        return why?.reasons.find(({ code }) => code === 'no-lane')?.sentence;
      },
      { describe: 'a reason' },
    );
    expect(told).toMatch(/browser lane.*lane 1: found no Chrome.*CHROME_PATH=\/nowhere\/chrome.*Install one/);
  });

  test('a worker finds one that is installed later, without a restart', { timeout: 60_000 }, async () => {
    await using folder = tempDir('late-chrome');
    await using millrace = open(folder.file('chrome'));
    const worker = millrace.worker({ browserLanes: 1 });
    await worker.start();
    const waiting = await millrace.dispatch(look, { sum: '6 * 7' });
    const found = await (chromes[0] as (typeof chromes)[number]).find();
    const libraries = found.libraries === null ? '' : `LD_LIBRARY_PATH=${found.libraries} `;
    const draft = folder.file('draft');
    await writeFile(draft, `#!/bin/sh\n${libraries}exec ${found.executable} "$@"\n`, { mode: 0o755 });
    await rename(draft, folder.file('chrome'));
    expect(await waiting.result({ timeout: '50s' })).toBe(42);
  });

  test('why says that no worker has browser lanes, and how to start one that has', async () => {
    await using millrace = open('auto');
    const worker = millrace.worker();
    await worker.start();
    const waiting = await millrace.dispatch(look, { sum: '1' });
    const told = await waitFor(
      async () => {
        const why = await millrace.why(waiting.id);
        return why?.reasons.find(({ code }) => code === 'no-lane')?.sentence;
      },
      { describe: 'a reason' },
    );
    expect(told).toContain('millrace work --browser-lanes=auto');
  });
});

test('a job of a browser lane can’t run now', async () => {
  await using millrace = open('auto');
  await expect(millrace.runNow(look, { sum: '1' })).rejects.toMatchObject({ code: 'handler-not-inline' });
});
