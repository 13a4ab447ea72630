/** The second implementation of the protocol, written by PROTOCOL.md alone, does what ours does. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { Hub } from '../../../src/hub/hub.js';
import { silentLogger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { MemoryStorage } from '../../../src/storage/memory/storage.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

const folder = fileURLToPath(new URL('../../../examples/python-worker/', import.meta.url));
const deadlineMs = 30_000;

/** One that has the library; Debian puts it beside its own Python, which need not be the first of the path. */
const python = [process.env['MILLRACE_TEST_PYTHON'], '/usr/bin/python3', 'python3'].find(
  (command) =>
    command !== undefined &&
    spawnSync(command, ['-c', 'import websockets'], { stdio: 'ignore' }).status === 0,
);
const isMissing = python === undefined;
if (isMissing && process.env['CI'] !== undefined) {
  throw new Error('no Python with the library "websockets": apt-get install python3-websockets');
}

class PythonWorker {
  readonly #process: ChildProcess;
  output = '';

  constructor(hub: string, options: readonly string[] = []) {
    const { WORKER_SECRET: _, ...env } = process.env;
    this.#process = spawn(python ?? 'python3', ['worker.py', 'handlers.py', '--hub', hub, ...options], {
      cwd: folder,
      env: { ...env, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process.stderr?.on('data', (data: Buffer) => {
      this.output += data.toString();
    });
    onTestFinished(() => {
      this.#process.kill('SIGKILL');
    });
  }

  terminate(): void {
    this.#process.kill('SIGTERM');
  }

  async exitCode(): Promise<number | null> {
    await this.sees(() => this.#process.exitCode !== null || this.#process.signalCode !== null, 'its end');
    return this.#process.exitCode;
  }

  async connected(times = 1): Promise<void> {
    await this.sees(() => this.output.split('link: connected').length > times, `connection ${times}`);
  }

  async sees<T>(condition: () => T | Promise<T>, what: string) {
    return await waitFor(condition, {
      describe: () => `${what}; the worker said:\n${this.output}`,
      deadlineMs,
    });
  }
}

async function openStage() {
  const storage = new MemoryStorage();
  await storage.open();
  // Heartbeats that are felt within a test.
  const { values: settings } = resolveSettings({ config: { heartbeat: '1s' } });
  const openHub = async (port = 0): Promise<Hub> => {
    const hub = new Hub({ storage, settings, port, logger: silentLogger });
    await hub.start();
    onTestFinished(() => hub.stop());
    return hub;
  };
  const millrace = new Millrace({ database: storage, jobs: [] });
  onTestFinished(() => millrace.close());
  const hub = await openHub();
  const status = async (id: string): Promise<string | undefined> => (await millrace.job(id))?.status;
  /** Its handler has said something: the job is not only leased, but has arrived. */
  const hasBegun = async (id: string): Promise<boolean> => (await millrace.log(id)).length > 0;
  return { millrace, hub, openHub, status, hasBegun, url: hub.url.replace('http', 'ws') };
}

const counting = (to: number, seconds: number) => ({ to, seconds });

describe.skipIf(isMissing)('a worker in Python', { timeout: 90_000 }, () => {
  it('runs jobs, with their lines and their results', async () => {
    const { millrace, url } = await openStage();
    const handles = await Promise.all(
      Array.from({ length: 30 }, (_, index) => millrace.dispatch('greet', { who: `Ada ${index} ✓` })),
    );
    const worker = new PythonWorker(url);
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '30s' })));
    expect(results).toEqual(handles.map((_, index) => `hello, Ada ${index} ✓`));
    const lines = await worker.sees(
      async () => (await millrace.log(handles[0]?.id ?? '')).map(({ text }) => text).join(),
      'the lines of a job',
    );
    expect(lines).toContain('greeting Ada 0 ✓, attempt 1');
    expect(await millrace.workers()).toMatchObject([{ state: 'RUNNING', link: 'hub', concurrency: 4 }]);
  });

  it('gets a job that comes later into the room that stands', async () => {
    const { millrace, url } = await openStage();
    await new PythonWorker(url).connected();
    const handle = await millrace.dispatch('greet', { who: 'Bea' });
    expect(await handle.result({ timeout: '30s' })).toBe('hello, Bea');
  });

  it('keeps what went wrong with a job', async () => {
    const { millrace, url, status } = await openStage();
    const worker = new PythonWorker(url);
    const once = await millrace.dispatch('fail', { why: 'out of paper' }, { attempts: 1 });
    const twice = await millrace.dispatch('fail', { why: 'out of ink' }, { attempts: 2 });
    await worker.sees(async () => (await status(once.id)) === 'buried', 'the job to be buried');
    expect(await millrace.job(once.id)).toMatchObject({
      reason: 'attempts-exhausted',
      failures: [{ attempt: 1, kind: 'failed', error: { name: 'ValueError', message: 'out of paper' } }],
    });
    await worker.sees(
      async () => (await millrace.job(twice.id))?.attempts === 1,
      'the first attempt to be charged',
    );
    expect(await status(twice.id)).toBe('pending');
  });

  it('goes on through a cut in the middle of a job, whose result arrives once', async () => {
    const { millrace, hub, url, hasBegun } = await openStage();
    await using proxy = await tcpProxy(url);
    const worker = new PythonWorker(proxy.url);
    const handle = await millrace.dispatch('count', counting(10, 0.2));
    await worker.sees(() => hasBegun(handle.id), 'the handler to run');
    proxy.cut('reset');
    await worker.connected(2);
    expect(await handle.result({ timeout: '30s' })).toBe(10);
    expect(await millrace.job(handle.id)).toMatchObject({ attempts: 0, deaths: 0 });
    expect(hub.metrics.settledJobs).toBe(1);
    expect(hub.metrics.reconnects).toBe(1);
  });

  it('sends a result again whose answer was lost, and it counts once', async () => {
    const { millrace, hub, url, hasBegun } = await openStage();
    await using proxy = await tcpProxy(url);
    const worker = new PythonWorker(proxy.url);
    const handle = await millrace.dispatch('count', counting(5, 0.2));
    await worker.sees(() => hasBegun(handle.id), 'the handler to run');
    proxy.freeze({ direction: 'to-client' });
    expect(await handle.result({ timeout: '30s' })).toBe(5);
    proxy.thaw();
    proxy.cut('reset');
    await worker.connected(2);
    const next = await millrace.dispatch('greet', { who: 'Cy' });
    expect(await next.result({ timeout: '30s' })).toBe('hello, Cy');
    expect((await millrace.stats()).reduce((sum, { completed }) => sum + completed, 0)).toBe(2);
    expect(hub.metrics.lostLeases).toBe(0);
  });

  it('finds its hub again after a restart, and the job that ran meanwhile is kept', async () => {
    const { millrace, hub, openHub, url, hasBegun } = await openStage();
    const worker = new PythonWorker(url);
    const handle = await millrace.dispatch('count', counting(10, 0.2));
    await worker.sees(() => hasBegun(handle.id), 'the handler to run');
    const { port } = hub;
    await hub.stop();
    await worker.sees(() => worker.output.includes('1012'), 'the close of the hub');
    await openHub(port);
    await worker.connected(2);
    expect(await handle.result({ timeout: '30s' })).toBe(10);
    expect(await millrace.job(handle.id)).toMatchObject({ attempts: 0, deaths: 0 });
  });

  it('stops a job that an operator cancels, and goes on', async () => {
    const { millrace, url, status, hasBegun } = await openStage();
    const worker = new PythonWorker(url, ['--concurrency', '1']);
    const handle = await millrace.dispatch('count', counting(10_000, 0.05));
    await worker.sees(() => hasBegun(handle.id), 'the handler to run');
    expect(await millrace.cancel(handle.id)).toBe('requested');
    await worker.sees(async () => (await status(handle.id)) === 'cancelled', 'the job to be cancelled');
    const next = await millrace.dispatch('greet', { who: 'Di' });
    expect(await next.result({ timeout: '30s' })).toBe('hello, Di');
  });

  it('takes nothing while an operator drains it, and goes on when activated', async () => {
    const { millrace, url, status, hasBegun } = await openStage();
    const worker = new PythonWorker(url, ['--id', 'w-python']);
    const running = await millrace.dispatch('count', counting(10, 0.2));
    await worker.sees(() => hasBegun(running.id), 'the handler to run');
    expect(await millrace.drainWorker('w-python')).toBe('done');
    expect(await running.result({ timeout: '30s' })).toBe(10);
    const waiting = await millrace.dispatch('greet', { who: 'Eve' });
    await worker.sees(
      async () =>
        (await millrace.workers())[0]?.status === 'drain' && (await millrace.workers())[0]?.running === 0,
      'the worker to show that it is drained and idle',
    );
    expect(await status(waiting.id)).toBe('pending');
    expect(await millrace.activateWorker('w-python')).toBe('done');
    expect(await waiting.result({ timeout: '30s' })).toBe('hello, Eve');
  });

  it('finishes what runs at a signal, says goodbye and ends', async () => {
    const { millrace, url, hasBegun } = await openStage();
    const worker = new PythonWorker(url);
    const handle = await millrace.dispatch('count', counting(10, 0.2));
    await worker.sees(() => hasBegun(handle.id), 'the handler to run');
    worker.terminate();
    expect(await worker.exitCode()).toBe(0);
    expect(await handle.result({ timeout: '30s' })).toBe(10);
    expect(await millrace.workers()).toMatchObject([{ status: 'offline', jobsDone: 1 }]);
  });

  it('gives back what takes too long at its end, uncharged', async () => {
    const { millrace, url, hasBegun } = await openStage();
    const worker = new PythonWorker(url, ['--stop-timeout', '0.3']);
    const handle = await millrace.dispatch('count', counting(10_000, 0.05));
    await worker.sees(() => hasBegun(handle.id), 'the handler to run');
    worker.terminate();
    expect(await worker.exitCode()).toBe(0);
    expect(await millrace.job(handle.id)).toMatchObject({ status: 'pending', attempts: 0, deaths: 0 });
  });

  it('ends in time with no hub in reach', async () => {
    const { hub, url } = await openStage();
    const worker = new PythonWorker(url);
    await worker.connected();
    await hub.stop();
    worker.terminate();
    expect(await worker.exitCode()).toBe(0);
  });

  it('ends when an operator wants it recycled', async () => {
    const { millrace, url } = await openStage();
    const worker = new PythonWorker(url, ['--id', 'w-python']);
    await worker.connected();
    expect(await millrace.recycleWorker('w-python')).toBe('done');
    expect(await worker.exitCode()).toBe(0);
  });
});
