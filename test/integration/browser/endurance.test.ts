import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BrowserLaneBench } from '../../support/browser-lane-bench.js';
import { chromes } from '../../support/chrome.js';
import { childrenOf, isRunning, membersOfGroups } from '../../support/process-groups.js';
import { waitFor } from '../../support/wait-for.js';
import { project } from '../cli/project.js';

const foldersIn = (path: string): string[] =>
  readdirSync(path, { recursive: true })
    .map(String)
    .filter((name) => /lane-\d+-\d+$/.test(name) || /(^|\/)gone-/.test(name));

test('200 jobs through one lane with planned restarts leave as much as they found', {
  timeout: 240_000,
}, async () => {
  await using bench = await new BrowserLaneBench({
    drawLimits: () => ({ jobs: 40, ageMs: 3_600_000 }),
  }).started();
  const job = (): Promise<unknown> =>
    bench.run(async ({ tab }) => {
      await tab.goto('data:text/html,<title>One of many</title><p>text');
      await tab.screenshot({ type: 'jpeg' });
      return await tab.title();
    });
  const count = async (): Promise<Record<string, number>> => {
    await bench.idle();
    await waitFor(() => foldersIn(bench.root.path).length === 1, {
      describe: () => `one folder, not ${foldersIn(bench.root.path).join(', ')}`,
    });
    return {
      processes: membersOfGroups([bench.pid]).length,
      children: childrenOf(process.pid).length,
      files: readdirSync('/proc/self/fd').length,
    };
  };
  for (let done = 0; done < 5; done += 1) await job();
  const before = await count();
  const groups = new Set<number>();
  for (let done = 5; done < 205; done += 1) {
    await bench.idle();
    groups.add(bench.pid);
    expect(await job()).toMatchObject({ settlement: { result: '"One of many"' } });
  }
  const after = await count();
  // Chrome itself keeps a page process in reserve now and then.
  expect(after['processes']).toBeLessThanOrEqual((before['processes'] ?? 0) + 1);
  expect(after['children']).toBe(before['children']);
  expect(after['files']).toBeLessThanOrEqual((before['files'] ?? 0) + 2);
  expect(bench.lane.snapshot()).toMatchObject({ jobsDone: 205, restarts: 5, state: 'idle' });
  expect(bench.steps.map(({ step }) => step)).toEqual(Array(5).fill('replace'));
  groups.delete(bench.pid);
  expect(membersOfGroups(groups)).toEqual([]);
});

const config = `
import { defineConfig, defineJob } from 'millrace';
const stay = defineJob('stay', { lane: 'browser', run: ({ tab }) => tab.evaluate('new Promise(() => {})', { timeout: '5m' }) });
const look = defineJob('look', { lane: 'browser', run: ({ tab }) => tab.evaluate('6 * 7') });
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs: [stay, look] });
`;

describe('[sqlite] a worker with browser lanes', () => {
  test('that is killed leaves no Chrome, and its next start no folder', { timeout: 120_000 }, async () => {
    await using here = await project(config);
    const found = await (chromes[0] as (typeof chromes)[number]).find();
    // In a place where Chrome's sockets have room for their names.
    const temp = await mkdtemp('/tmp/mr-');
    onTestFinished(() => rm(temp, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
    const env = {
      TMPDIR: temp,
      CHROME_PATH: found.executable,
      ...(found.libraries === null ? {} : { LD_LIBRARY_PATH: found.libraries }),
    };
    const args = ['work', '--no-supervisor', '--browser-lanes', '1', '--heartbeat', '1s'];
    const client = here.client();
    const stay = await client.dispatch('stay', {});
    const first = here.start(args, { env });
    const lane = await waitFor(
      async () => {
        const lanes = (await client.workers()).flatMap((worker) => worker.lanes);
        return lanes.find(({ kind, state, pid }) => kind === 'browser' && state === 'busy' && pid !== null);
      },
      {
        describe: () => `a browser lane that is busy: ${first.stderr()}`,
        deadlineMs: 60_000,
        intervalMs: 100,
      },
    );
    const group = lane.pid ?? 0;
    expect(membersOfGroups([group]).length).toBeGreaterThan(1);
    first.child.kill('SIGKILL');
    await first.ended;
    await waitFor(() => membersOfGroups([group]).length === 0, { describe: 'its Chrome to be gone' });

    const second = here.start(args, { env });
    await second.says(/folders: removed \d+ that dead processes had left/);
    const mine = await waitFor(
      async () => {
        const { stderr } = second;
        const lanes = (await client.workers())
          .filter(({ pid }) => pid === second.child.pid)
          .flatMap(({ lanes: all }) => all);
        const found_ = lanes.find(({ kind, pid }) => kind === 'browser' && pid !== null);
        return found_ ?? (second.child.exitCode !== null && Promise.reject(new Error(stderr())));
      },
      { describe: 'its lane', deadlineMs: 60_000, intervalMs: 100 },
    );
    const root = join(temp, `millrace-${process.getuid?.()}`);
    expect(readdirSync(root).filter((name) => name.startsWith('lanes-'))).toHaveLength(1);
    expect(await client.cancel(stay.id)).toBeTruthy();
    const look = await client.dispatch('look', {});
    expect(await look.result({ timeout: '60s' })).toBe(42);
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    await waitFor(() => !isRunning(mine.pid ?? 0), { describe: 'its Chrome to be gone' });
  });
});
