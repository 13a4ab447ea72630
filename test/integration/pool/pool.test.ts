import { describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { type Project, project, type Started } from '../cli/project.js';

const config = `
import { defineConfig, defineJob } from 'millrace';
import { setTimeout as pause } from 'node:timers/promises';
const jobs = [
  defineJob('nap', { run: async ({ input, signal }) => { await pause(input.ms, undefined, { signal }); return process.pid; } }),
  defineJob('spin', { attempts: 1, run: () => { for (;;); } }),
];
export default defineConfig({
  database: 'sqlite:data/test.db?synchronous=NORMAL', jobs, heartbeat: '300ms', staleTimeout: '2s', workerTtl: '5s',
});
`;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The processes of the workers that are registered and live. */
async function livePids(here: Project): Promise<number[]> {
  const workers = await here.client().workers();
  return workers.filter(({ status, pid }) => status !== 'offline' && isAlive(pid)).map(({ pid }) => pid);
}

async function hasWorkers(here: Project, count: number): Promise<number[]> {
  return waitFor(
    async () => {
      const pids = await livePids(here);
      return pids.length === count && pids;
    },
    { describe: `${count} live workers`, deadlineMs: 20_000 },
  );
}

async function gone(pids: readonly number[], deadlineMs = 10_000): Promise<void> {
  await waitFor(() => pids.every((pid) => !isAlive(pid)), {
    describe: `${pids.join(', ')} to be gone`,
    deadlineMs,
  });
}

async function naps(here: Project, count: number, ms: number) {
  const client = here.client();
  return client.dispatchMany(Array.from({ length: count }, () => ({ job: 'nap', input: { ms } })));
}

async function end(pool: Started, signal: NodeJS.Signals = 'SIGTERM') {
  pool.child.kill(signal);
  return pool.ended;
}

describe('[sqlite] a pool of workers', () => {
  test('shares the jobs among its processes, ends with all of them, and answers once for all', async () => {
    await using here = await project(config);
    const pool = here.start(['work', '--workers', '3', '--concurrency', '2', '--json']);
    const pids = await hasWorkers(here, 3);
    expect(pids).not.toContain(pool.child.pid);
    const handles = await naps(here, 18, 300);
    const ran = new Set(await Promise.all(handles.map((handle) => handle.result({ timeout: '20s' }))));
    expect(ran.size).toBeGreaterThan(1);
    const run = await end(pool);
    expect(run.code).toBe(0);
    expect(run.json()).toMatchObject({ completed: 18, failed: 0, putBack: 0, exit: 0 });
    expect(run.stderr).toMatch(/pool: 3 workers, 2 lanes each/);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  test('starts a worker again that was killed, and its jobs are done', async () => {
    await using here = await project(config);
    const pool = here.start(['work', '--workers', '2', '--concurrency', '2']);
    const pids = await hasWorkers(here, 2);
    const handles = await naps(here, 8, 1_000);
    await waitFor(async () => (await here.client().stats('default')).processing > 0, {
      describe: 'jobs to run',
    });
    process.kill(pids[0] as number, 'SIGKILL');
    await pool.says(/pool: worker \d ended \(SIGKILL\), starting again in \d+\.\d s/);
    const later = await hasWorkers(here, 2);
    expect(later).toContain(pids[1]);
    expect(later).not.toContain(pids[0]);
    for (const handle of handles) await handle.result({ timeout: '30s' });
    expect((await end(pool)).code).toBe(0);
  }, 60_000);

  test('TERM lets running jobs end, a second one puts them back', async () => {
    await using here = await project(config);
    const [nap] = await naps(here, 1, 60_000);
    const pool = here.start(['work', '--workers', '2']);
    await waitFor(async () => (await nap?.job())?.status === 'processing', { describe: 'the job to run' });
    pool.child.kill('SIGTERM');
    await pool.says(/SIGTERM: finishing what runs/);
    const toldAt = performance.now();
    await waitFor(() => performance.now() - toldAt > 300, { describe: 'the echo of a signal to be over' });
    const run = await end(pool);
    expect(run.code).toBe(143);
    expect(await nap?.job()).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a worker that does not end in its time is killed', async () => {
    await using here = await project(config);
    const handle = await here.client().dispatch('spin');
    const pool = here.start(['work', '--stop-timeout', '100ms', '--kill-grace', '100ms']);
    await waitFor(async () => (await handle.job())?.status === 'processing', { describe: 'the job to run' });
    const pids = await livePids(here);
    const run = await end(pool);
    expect(run.stderr).toMatch(/pool: worker 1 outlived its time and is killed/);
    expect(run.code).toBe(137);
    await gone(pids);
  }, 40_000);

  test('a supervisor that is killed leaves no worker behind, not even one that spins', async () => {
    await using here = await project(config);
    const handle = await here.client().dispatch('spin');
    const options = ['--stop-timeout', '100ms', '--kill-grace', '100ms', '--concurrency', '1'];
    const pool = here.start(['work', '--workers', '2', ...options]);
    const pids = await hasWorkers(here, 2);
    await waitFor(async () => (await handle.job())?.status === 'processing', { describe: 'the job to run' });
    pool.child.kill('SIGKILL');
    await gone(pids, 25_000);
  }, 50_000);

  test('what can’t be configured is not tried again', async () => {
    await using here = await project("export default { jobs: 'none' };");
    const run = await here.run(['work', '--workers', '3']);
    expect(run.code).toBe(64);
    expect(run.stderr).toMatch(/jobs/);
    expect(run.stderr.match(/cannot be started, it is not tried again/g)).toHaveLength(1);
  });

  test('a config that is broken for a moment costs no place of a pool that was up', async () => {
    await using here = await project(config);
    const pool = here.start(['work', '--workers', '2']);
    const pids = await hasWorkers(here, 2);
    await here.write('millrace.config.mjs', "throw new Error('half a deploy');");
    process.kill(pids[0] as number, 'SIGKILL');
    await pool.says(/pool: worker \d ended \(code 64\), starting again in/);
    await here.write('millrace.config.mjs', config);
    await hasWorkers(here, 2);
    expect((await end(pool)).code).toBe(0);
  }, 60_000);

  test('flags that do not fit together are refused before anything starts', async () => {
    await using here = await project(config);
    for (const args of [
      ['--min-workers', '2'],
      ['--workers', '2', '--max-workers', '3'],
      ['--workers', '257'],
    ]) {
      const run = await here.run(['work', ...args]);
      expect(run.code).toBe(args.includes('257') ? 64 : 2);
      expect(run.stderr).not.toContain('registered');
    }
  });

  test('one that crashes as it starts is tried again with growing waits, and can be stopped between', async () => {
    await using here = await project(`${config}\nsetTimeout(() => process.abort(), 50);`);
    const pool = here.start(['work']);
    await pool.says(/SIGABRT\), starting again in .*inARow=1/);
    await pool.says(/SIGABRT\), starting again in .*inARow=2/);
    pool.child.kill('SIGTERM');
    expect([0, 143]).toContain((await pool.ended).code);
  });

  test('an adaptive one grows with its backlog and shrinks when there is none', async () => {
    await using here = await project(config);
    const env = {
      MILLRACE_WORKER_POOL_SCALE_INTERVAL: '200ms',
      MILLRACE_WORKER_POOL_IDLE_GRACE: '1s',
    };
    const pool = here.start(['work', '--min-workers', '1', '--max-workers', '3', '--concurrency', '2'], {
      env,
    });
    await hasWorkers(here, 1);
    // Long enough for three workers to come up while there is still a backlog, also on a busy machine.
    const handles = await naps(here, 36, 1_000);
    await pool.says(/pool: [12] → 3 workers \(backlog\).*claimable=\d+/);
    await hasWorkers(here, 3);
    for (const handle of handles) await handle.result({ timeout: '40s' });
    await pool.says(/pool: [23] → 1 workers \(no-backlog\)/);
    await hasWorkers(here, 1);
    const run = await end(pool);
    expect(run.code).toBe(0);
    expect(run.stderr).not.toMatch(/starting again/);
  }, 120_000);
});
