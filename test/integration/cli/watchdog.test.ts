import { describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { type Project, project } from './project.js';

/** `grind` blocks the loop for so long in JavaScript, `sleep` outside of it. */
const config = `
import { execFileSync } from 'node:child_process';
import { defineConfig, defineJob } from 'millrace';
function grindFine(ms) { const end = Date.now() + ms; let x = 0; while (Date.now() < end) x += 1; return x; }
const jobs = [
  defineJob('grind', { attempts: 1, run: ({ input }) => grindFine(input.ms) }),
  defineJob('sleep', { attempts: 1, run: ({ input }) => { execFileSync('sleep', [String(input.ms / 1000)]); return 'slept'; } }),
];
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs });
`;

/** Some ten thousand times what a test waits. */
const forever = 3_600_000;

/** Signals that come closer together are taken for one. */
async function apart(): Promise<void> {
  const since = performance.now();
  await waitFor(() => performance.now() - since > 300, { describe: 'signals to be apart' });
}

async function holder(here: Project, id: string): Promise<string | null> {
  const job = await here.client().job(id);
  return job?.status === 'processing' ? job.workerId : null;
}

describe('[sqlite] the watchdog of millrace work', () => {
  test('names the frame that blocks the loop while it does, and says when it is over', async () => {
    await using here = await project(config);
    const handle = await here.client().dispatch('grind', { ms: 3_000 });
    const worker = here.start(['work', '--no-supervisor']);
    await worker.says(/loop: blocked for \S+ in grindFine \(.*millrace\.config\.mjs:4\)/);
    // It said so while the handler ran: the line did not have to wait for the loop.
    expect((await handle.job())?.status).toBe('processing');
    await worker.says(/loop: turns again after 2s|loop: turns again after [3-9]s/);
    await handle.result({ timeout: '10s' });
    const [listing] = await here.client().workers();
    expect(listing?.state).toBe('RUNNING');
  });

  test('says that it is blocked also where no frame can be seen, and the job is none the worse', async () => {
    await using here = await project(config);
    const handle = await here.client().dispatch('sleep', { ms: 3_500 });
    const worker = here.start(['work', '--no-supervisor']);
    await worker.says(/loop: blocked for \S+ outside of JavaScript/);
    expect(await handle.result({ timeout: '10s' })).toBe('slept');
    await worker.says(/loop: turns again/);
  });

  test('a loop that does not come back ends the process with 75', async () => {
    await using here = await project(config);
    const handle = await here.client().dispatch('grind', { ms: forever });
    const worker = here.start(['work', '--no-supervisor', '--blocked-timeout', '2s']);
    await waitFor(() => holder(here, handle.id), { describe: 'the job to be taken' });
    const run = await worker.ended;
    expect(run.stderr).toMatch(/self-kill: the main loop has not turned for \S+, ending the process with 75/);
    expect(run.code).toBe(75);
  });

  test('one that no exit can reach is killed', async () => {
    await using here = await project(config);
    await here.client().dispatch('sleep', { ms: 15_000 });
    const worker = here.start(['work', '--no-supervisor', '--blocked-timeout', '2s']);
    const run = await worker.ended;
    expect(run.stderr).toMatch(/self-kill: /);
    expect(run.code).toBe(null);
    expect(worker.child.signalCode).toBe('SIGKILL');
  });

  test.each([
    ['stops when its time is over', 1, /self-kill: SIGTERM came \S+ ago, and the main loop is blocked/],
    [
      'stops soon by a second signal',
      2,
      /self-kill: SIGTERM came [\d.]+m?s ago, and the main loop is blocked/,
    ],
  ])('a blocked loop without a supervisor %s', async (_, signals, line) => {
    await using here = await project(config);
    const handle = await here.client().dispatch('grind', { ms: forever });
    const timeout = signals === 1 ? '2s' : '5m';
    const worker = here.start(['work', '--no-supervisor', '--stop-timeout', timeout]);
    await worker.says(/loop: blocked for/);
    for (let count = 0; count < signals; count += 1) {
      if (count > 0) await apart();
      worker.child.kill('SIGTERM');
    }
    const run = await worker.ended;
    expect(run.stderr).toMatch(line);
    expect(run.code).toBe(143);
    expect(await handle.job()).toMatchObject({ status: 'processing', attempts: 0 });
  });

  test('a process that was stopped for longer than that and goes on is left in peace', async () => {
    await using here = await project(config);
    const worker = here.start(['work', '--no-supervisor', '--blocked-timeout', '2s']);
    await worker.says(/registered/);
    worker.child.kill('SIGSTOP');
    const stoppedAt = performance.now();
    await waitFor(() => performance.now() - stoppedAt > 4_000, { describe: 'twice the timeout to pass' });
    worker.child.kill('SIGCONT');
    const handle = await here.client().dispatch('grind', { ms: 1 });
    await handle.result({ timeout: '10s' });
    worker.child.kill('SIGTERM');
    const run = await worker.ended;
    expect(run.code).toBe(0);
    expect(run.stderr).not.toContain('self-kill');
  });
});
