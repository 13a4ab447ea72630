import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Millrace, WorkerListing } from '../../../src/index.js';
import { waitFor } from '../../support/wait-for.js';
import { command, project } from './project.js';

const config = `
import { defineConfig } from 'millrace';
import { jobs } from './jobs.mjs';
export default defineConfig({
  database: 'sqlite:data/test.db?synchronous=NORMAL', jobs, heartbeat: '500ms', staleTimeout: '5s', workerTtl: '8s',
});
`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function runningWorker(client: Millrace, notPid = 0): Promise<WorkerListing> {
  return waitFor(
    async () =>
      (await client.workers()).find(
        ({ state, status, pid }) => status === 'active' && state === 'RUNNING' && pid !== notPid,
      ),
    { describe: 'a worker to run', deadlineMs: 40_000, intervalMs: 100 },
  );
}

async function gone(pid: number): Promise<void> {
  await waitFor(() => !isAlive(pid), { describe: `process ${pid} to end`, deadlineMs: 30_000 });
}

describe('[sqlite] millrace up', { timeout: 120_000 }, () => {
  test('makes the database, runs jobs over its hub, and one Ctrl-C ends all of it', async () => {
    await using here = await project(config);
    expect(existsSync(here.file('data/test.db'))).toBe(false);
    const up = here.start(['up', '--port', '0'], { longestMs: 110_000 });
    await up.says(/hub: listening on http/);
    const url = /listening on (http:\/\/\S+)/.exec(up.stderr())?.[1] ?? '';
    const client = here.client();
    const handle = await client.dispatch('ok', { n: 1 });
    expect(await handle.result({ timeout: '40s' })).toEqual({ got: { n: 1 } });
    const worker = await runningWorker(client);
    expect(worker).toMatchObject({ link: 'hub' });
    expect(await (await fetch(`${url}/workers`)).json()).toMatchObject({
      workers: [{ id: worker.id, status: 'active', link: 'hub' }],
    });
    expect(worker.pid).not.toBe(up.child.pid);
    up.child.kill('SIGINT');
    const run = await up.ended;
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toBe(`millrace is up on ${url}; Ctrl-C ends it\n`);
    expect(isAlive(worker.pid)).toBe(false);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test('a worker that is killed is started again under its id, and its hub stays', async () => {
    await using here = await project(config);
    const up = here.start(['up', '--port', '0'], { longestMs: 110_000 });
    const client = here.client();
    const first = await runningWorker(client);
    process.kill(first.pid, 'SIGKILL');
    const second = await runningWorker(client, first.pid);
    expect(second.id).toBe(first.id);
    expect(second.incarnation).not.toBe(first.incarnation);
    const handle = await client.dispatch('ok', { n: 2 });
    expect(await handle.result({ timeout: '30s' })).toEqual({ got: { n: 2 } });
    up.child.kill('SIGTERM');
    expect((await up.ended).code).toBe(0);
  });

  test('when it is killed its worker ends too', async () => {
    await using here = await project(config);
    const up = here.start(['up', '--port', '0'], { longestMs: 110_000 });
    const worker = await runningWorker(here.client());
    up.child.kill('SIGKILL');
    await gone(worker.pid);
  });

  test('ends with the program that started it over a channel', async () => {
    await using here = await project(config);
    const script = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, [${JSON.stringify(command)}, 'up', '--port', '0'], {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      process.stdout.write(String(child.pid));
      setInterval(() => undefined, 1000);`;
    const parent = spawn(process.execPath, ['-e', script], {
      cwd: here.path,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const text = await new Promise<string>((resolve) =>
      parent.stdout.once('data', (part) => resolve(String(part))),
    );
    const worker = await runningWorker(here.client());
    parent.kill('SIGKILL');
    await gone(Number(text));
    await gone(worker.pid);
  });

  test('a taken port is told, is 75, and no worker is started', async () => {
    await using here = await project(config);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const run = await here.run(['up', '--port', String(port)]);
    server.close();
    expect(run.code).toBe(75);
    expect(run.stderr).toMatch(
      /millrace: .*port \d+: another process listens there.*\[hub-not-listening\]\n$/,
    );
  });

  test.each([
    ['a port that is none', 64, ['--port', 'x'], /--port: expected a whole number from 0 to 65535/],
    [
      'a pool that does not fit',
      2,
      ['--min-workers', '3', '--port', '0'],
      /a minimum of workers needs a maximum/,
    ],
    ['no jobs at once', 64, ['--concurrency', '0', '--port', '0'], /--concurrency: expected/],
  ])('%s is exit %i and told', async (_what, code, flags, message) => {
    await using here = await project(config);
    const run = await here.run(['up', ...flags]);
    expect(run.stderr).toMatch(message);
    expect(run).toMatchObject({ code, stdout: '' });
  });
});
