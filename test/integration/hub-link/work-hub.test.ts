import { describe, expect, test } from 'vitest';
import { openEngine } from '../../support/engines.js';
import { newJob, openHub } from '../../support/hub-stage.js';
import { waitFor } from '../../support/wait-for.js';
import { project } from '../cli/project.js';

const config = `
import { defineConfig, defineJob } from 'millrace';
import { setTimeout as pause } from 'node:timers/promises';
const jobs = [
  defineJob('nap', { run: async ({ input }) => { await pause(input); return process.pid; } }),
  defineJob('block', { attempts: 1, run: ({ input }) => { for (const end = Date.now() + input; Date.now() < end; ); return 'once'; } }),
];
export default defineConfig({ database: 'postgres://nobody@127.0.0.1:9/none', jobs, killGrace: '200ms' });
`;
const deadlineMs = 40_000;
const environment = {
  MILLRACE_WORKER_SLEEP: '200ms',
  MILLRACE_HEARTBEAT: '500ms',
  MILLRACE_STALE_TIMEOUT: '3s',
};

async function stage() {
  const engine = await openEngine('sqlite');
  const hub = await openHub(engine.storage, { environment });
  const here = await project(config);
  const { storage } = engine;
  return {
    here,
    storage,
    hubUrl: hub.url.replace('http', 'ws'),
    async add(count: number, name: string, input: number): Promise<string[]> {
      const jobs = Array.from({ length: count }, () => newJob({ name, payload: JSON.stringify(input) }));
      await storage.enqueue(jobs);
      return jobs.map(({ id }) => id);
    },
    completed: (id: string) =>
      waitFor(
        async () => {
          const job = await storage.job(id);
          return job?.status === 'completed' && job;
        },
        { describe: `job ${id} to complete`, deadlineMs },
      ),
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

describe('millrace work --hub', () => {
  test('runs jobs with no database in reach, keeps the lease of one that blocks the loop, and ends with 0', async () => {
    await using on = await stage();
    const [nap = '', block = ''] = [...(await on.add(1, 'nap', 1)), ...(await on.add(1, 'block', 7_000))];
    const run = on.here.start(['work', '--hub', on.hubUrl], { longestMs: 100_000 });
    await on.completed(nap);
    // Longer than two leases: only heartbeats that need no main loop keep it.
    const blocked = await on.completed(block);
    expect(blocked).toMatchObject({ result: '"once"', attempts: 0, deaths: 0 });
    const [worker] = await on.storage.workers();
    expect(worker).toMatchObject({ link: 'hub', state: 'RUNNING' });
    run.child.kill('SIGTERM');
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('link: connected');
    expect(stderr).toContain('drain: done');
  }, 120_000);

  test('sizes an adaptive pool by the backlog that the hub tells', async () => {
    await using on = await stage();
    await on.add(30, 'nap', 1_500);
    const args = ['work', '--hub', on.hubUrl, '--min-workers', '1', '--max-workers', '3'];
    const env = { MILLRACE_WORKER_POOL_SCALE_INTERVAL: '1s', MILLRACE_CONCURRENCY: '1' };
    const run = on.here.start(args, { longestMs: 100_000, env });
    await waitFor(async () => (await on.storage.workers()).filter(({ gone }) => !gone).length === 3, {
      describe: 'three workers',
      deadlineMs,
    });
    run.child.kill('SIGTERM');
    expect((await run.ended).code).toBe(0);
  }, 120_000);

  test('never shows its token, and tells what cures one that is refused', async () => {
    await using on = await stage();
    const secret = 'not-a-token-of-this-hub';
    const run = on.here.start(['work', '--hub', on.hubUrl], {
      longestMs: 100_000,
      env: { WORKER_SECRET: secret },
    });
    await run.says(/error link: not registered .*WORKER_SECRET/);
    run.child.kill('SIGTERM');
    const { stdout, stderr } = await run.ended;
    expect(stdout + stderr).not.toContain(secret);
  }, 120_000);

  test('refuses to run one job and end, which needs the database', async () => {
    await using here = await project(config);
    const { code, stderr } = await here.run(['work', '--once', '--hub', 'ws://127.0.0.1:9']);
    expect(code).not.toBe(0);
    expect(stderr).toContain('--hub');
  });
});
