import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { command, type Project, project } from '../cli/project.js';

const shipped = fileURLToPath(new URL('../../../deploy/supervisor/millrace.conf', import.meta.url));

const config = `
import { defineConfig, defineJob } from 'millrace';
import { setTimeout as pause } from 'node:timers/promises';
const jobs = [defineJob('nap', { run: async ({ input }) => { await pause(input.ms); return process.pid; } })];
export default defineConfig({
  database: 'sqlite:data/test.db?synchronous=NORMAL', jobs, heartbeat: '300ms', staleTimeout: '2s', workerTtl: '5s',
});
`;

function isInstalled(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A supervisord of the test's own, with the programs as they are shipped but for their places and their user. */
async function supervisord(here: Project, hubPort = 8000): Promise<Supervisord> {
  const programs = (await readFile(shipped, 'utf8'))
    .replaceAll('node node_modules/millrace/dist/cli/main.js', `${process.execPath} ${command}`)
    .replaceAll('directory=/srv/app', `directory=${here.path}`)
    .replace('main.js hub', `main.js hub --port ${hubPort}`)
    .replace('ws://127.0.0.1:8000', `ws://127.0.0.1:${hubPort}`)
    .replaceAll('/var/log/millrace/', `${here.path}/`)
    .replaceAll(/^user=.*\n/gm, '');
  const own = `[unix_http_server]
file=${here.file('s.sock')}
[supervisord]
nodaemon=true
logfile=${here.file('supervisord.log')}
pidfile=${here.file('s.pid')}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://${here.file('s.sock')}
`;
  await here.write('supervisord.conf', `${own}\n${programs}`);
  return new Supervisord(here.file('supervisord.conf'));
}

class Supervisord implements AsyncDisposable {
  readonly #config: string;
  readonly #process: ChildProcess;

  constructor(config: string) {
    this.#config = config;
    this.#process = spawn('supervisord', ['-n', '-c', config], { stdio: 'ignore' });
  }

  async control(...args: string[]): Promise<string> {
    try {
      const { stdout } = await promisify(execFile)('supervisorctl', ['-c', this.#config, ...args], {
        timeout: 40_000,
      });
      return stdout;
    } catch (error) {
      // `status` ends with 3 where a program does not run.
      return (error as { stdout?: string }).stdout ?? '';
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function hasWorkers(here: Project, count: number): Promise<number[]> {
  return waitFor(
    async () => {
      const workers = await here.client().workers();
      const live = workers.filter(({ status, pid }) => status !== 'offline' && isAlive(pid));
      return live.length === count && live.map(({ pid }) => pid);
    },
    { describe: `${count} live workers`, deadlineMs: 30_000 },
  );
}

describe.skipIf(!isInstalled('supervisord'))('[sqlite] a pool under supervisord', () => {
  test('ends with its jobs done when it is stopped, and comes back when it is killed', async () => {
    await using here = await project(config);
    await using daemon = await supervisord(here);
    const first = await hasWorkers(here, 2);
    expect(await daemon.control('status', 'millrace')).toContain('RUNNING');

    const supervisor = Number(await daemon.control('pid', 'millrace'));
    process.kill(supervisor, 'SIGKILL');
    await waitFor(() => first.every((pid) => !isAlive(pid)), {
      describe: 'the workers of the killed pool to end',
      deadlineMs: 20_000,
    });
    const second = await hasWorkers(here, 2);
    expect(Number(await daemon.control('pid', 'millrace'))).not.toBe(supervisor);

    const handle = await here.client().dispatch('nap', { ms: 1_500 });
    await waitFor(async () => (await handle.job())?.status === 'processing', { describe: 'the job to run' });
    expect(await daemon.control('stop', 'millrace')).toContain('stopped');
    expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 0, deaths: 0 });
    expect(second.filter(isAlive)).toEqual([]);
    expect(await daemon.control('status', 'millrace')).toContain('STOPPED');
  }, 90_000);
});

describe.skipIf(!isInstalled('supervisord'))('[sqlite] a hub under supervisord', () => {
  test('runs jobs by the worker that is linked to it, and both stop in their time', async () => {
    await using here = await project(config);
    await using daemon = await supervisord(here, await freePort());
    await hasWorkers(here, 2);
    await daemon.control('stop', 'millrace');
    expect(await daemon.control('start', 'millrace-hub')).toContain('started');
    expect(await daemon.control('start', 'millrace-remote')).toContain('started');
    const client = here.client();
    const handle = await client.dispatch('nap', { ms: 10 });
    await handle.result({ timeout: '40s' });
    expect((await client.workers()).filter(({ alive }) => alive)).toEqual([
      expect.objectContaining({ link: 'hub', status: 'active' }),
    ]);
    expect(await daemon.control('stop', 'millrace-remote')).toContain('stopped');
    expect(await daemon.control('stop', 'millrace-hub')).toContain('stopped');
  }, 120_000);
});

describe.skipIf(!isInstalled('systemd-analyze'))('the units for systemd', () => {
  test.each(['millrace.service', 'millrace@.service', 'millrace-hub.service', 'millrace-remote.service'])(
    '%s is accepted as it is shipped',
    async (name) => {
      await using here = await project(null);
      const unit = fileURLToPath(new URL(`../../../deploy/systemd/${name}`, import.meta.url));
      const file = here.file(name.replace('@.', '@critical.'));
      const text = (await readFile(unit, 'utf8')).replace('/usr/bin/node', process.execPath);
      await here.write(name.replace('@.', '@critical.'), text);
      const { stderr } = await promisify(execFile)('systemd-analyze', ['verify', file]);
      expect(stderr).not.toMatch(/millrace.*(Unknown|Failed|ignoring)/i);
    },
  );
});

describe('[sqlite] what a monitor is told to look at', () => {
  test.each(['deploy/prometheus-rules.yml', 'docs/operations/monitoring.md'])(
    '%s names metrics that a hub has',
    async (page) => {
      await using here = await project(config);
      const hub = here.start(['hub', '--port', '0'], { longestMs: 60_000 });
      await hub.says(/hub: the database is open/);
      const url = /listening on (http:\/\/\S+)/.exec(hub.stderr())?.[1] ?? '';
      const scraped = await (await fetch(`${url}/metrics`)).text();
      const known = new Set([...scraped.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
      const text = await readFile(new URL(`../../../${page}`, import.meta.url), 'utf8');
      const named = new Set([...text.matchAll(/\bmillrace_[a-z_]+/g)].map(([name]) => name));
      expect(named.size).toBeGreaterThan(8);
      expect([...named].filter((name) => !known.has(name))).toEqual([]);
    },
    60_000,
  );
});
