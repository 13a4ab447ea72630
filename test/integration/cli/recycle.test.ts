import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { project } from './project.js';

/** Each job keeps 8 MB for good. */
const leaking = `
import { setTimeout as delay } from 'node:timers/promises';
import { defineConfig, defineJob } from 'millrace';
const kept = [];
const leak = defineJob('leak', { run: async () => { kept.push(Buffer.alloc(8 * 1024 ** 2, 1)); await delay(300); } });
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs: [leak] });
`;

describe('[sqlite] millrace work makes room for a fresh process', { timeout: 120_000 }, () => {
  test('after so many jobs under load: nothing is interrupted, the id stays, the exit is 0', async () => {
    await using here = await project();
    const client = here.client();
    const handles = await client.dispatchMany(Array.from({ length: 200 }, () => ({ job: 'ok', input: {} })));
    const env = { WORKER_RECYCLE_AFTER_JOBS: '50' };
    const ids: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const worker = here.start(['work', '--no-supervisor', '--concurrency', '5'], { env });
      const run = await worker.ended;
      expect(run.code).toBe(0);
      expect(run.stderr).toMatch(/recycle: jobs_done=\d+ reached 50, draining/);
      expect(run.stderr).toMatch(/drain: done, jobs_done=\d+, exiting/);
      ids.push(/registered.*worker=(w-[0-9a-f]{8}-1)/.exec(run.stderr)?.[1] ?? run.stderr);
      const waiting = (await client.stats('default')).claimable;
      for (let n = waiting; n < 100; n += 1) await client.dispatch('ok', {});
    }
    expect(ids[0]).toMatch(/^w-/);
    expect(ids[1]).toBe(ids[0]);
    const jobs = await Promise.all(handles.map((handle) => handle.job()));
    for (const job of jobs) {
      expect(job?.status === 'completed' || job?.status === 'pending').toBe(true);
      expect(job).toMatchObject({ deaths: 0, attempts: 0 });
    }
    expect(existsSync(here.file('.millrace', 'worker-id'))).toBe(true);
  });

  test('when an operator asks for it, by command, with the deed in the audit', async () => {
    await using here = await project();
    const client = here.client();
    const worker = here.start(['work', '--no-supervisor', '--heartbeat', '1s']);
    const [registered] = await waitFor(
      async () => {
        const live = (await client.workers()).filter(({ state }) => state === 'RUNNING');
        return live.length > 0 ? live : null;
      },
      { describe: 'the worker to run', deadlineMs: 30_000 },
    );
    const id = registered?.id ?? '';
    expect(await here.run(['worker', 'recycel', id])).toMatchObject({ code: 2 });
    expect(await here.run(['worker', 'forget', id])).toMatchObject({ code: 1 });
    expect(await here.run(['worker', 'drain', 'w-nobody'])).toMatchObject({ code: 1 });
    const asked = await here.run(['worker', 'recycle', id, '--json']);
    expect(asked.json()).toEqual({ id, deed: 'recycle', outcome: 'done' });
    const run = await worker.ended;
    expect(run.code).toBe(0);
    expect(run.stderr).toMatch(/recycle: asked by an operator, draining/);
    const { entries } = (await here.run(['audit', '--json'])).json<{ entries: { action: string }[] }>();
    expect(entries.map(({ action }) => action)).toEqual(['worker.recycle', 'worker.drain', 'worker.forget']);
    expect((await here.run(['workers'])).stdout).toContain(id);
    expect(await here.run(['worker', 'forget', id])).toMatchObject({ code: 0 });
  });

  test('near its memory, before it refuses a job for that', async () => {
    await using here = await project(leaking);
    const client = here.client();
    const handles = await client.dispatchMany(Array.from({ length: 22 }, () => ({ job: 'leak', input: {} })));
    const env = { MILLRACE_WORKER_MAX_MEMORY: '230', MILLRACE_RESOURCE_MEMORY_HEADROOM_MB: '100' };
    const pool = here.start(['work', '--concurrency', '2'], { env });
    for (const handle of handles) await handle.result({ timeout: '60s' });
    pool.child.kill('SIGTERM');
    const { stderr } = await pool.ended;
    expect(stderr).toMatch(/recycle: memory=\d+MB reached 230MB, draining/);
    expect(stderr).not.toMatch(/not admitted/);
    for (const handle of handles) expect(await handle.job()).toMatchObject({ attempts: 0, deaths: 0 });
  });

  test('a memory limit that is passed at the start is exit 64', async () => {
    await using here = await project();
    const run = await here.run(['work', '--no-supervisor'], { env: { MILLRACE_WORKER_MAX_MEMORY: '1' } });
    expect(run.code).toBe(64);
    expect(run.stderr).toMatch(/MILLRACE_WORKER_MAX_MEMORY: expected more MB/);
  });

  test('settings that operators know from elsewhere are answered', async () => {
    await using here = await project();
    const env = { MILLRACE_WORKER_MAX_JOBS: '5', WORKER_RECONNECT_GIVEUP_S: '60' };
    const worker = here.start(['work', '--no-supervisor'], { env });
    await worker.says(/registered/);
    worker.child.kill('SIGTERM');
    const { stderr, code } = await worker.ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/MILLRACE_WORKER_MAX_JOBS is set.*did you mean WORKER_RECYCLE_AFTER_JOBS/);
    expect(stderr).toMatch(/WORKER_RECONNECT_GIVEUP_S is ignored/);
  });
});
