import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { project } from './project.js';

/** Makes an import of this package fail as it does where it was not installed. */
function withoutPackage(name: string): string {
  const hooks = `export function resolve(specifier, context, next) {
    if (specifier === '${name}' || specifier.startsWith('${name}/')) {
      throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
    }
    return next(specifier, context);
  }`;
  return `import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}));`;
}

describe('[sqlite] millrace work and flush', () => {
  test('flush runs what is due, waits for no retry and tells of queues it left', async () => {
    await using here = await project();
    const client = here.client();
    for (let n = 0; n < 5; n += 1) await client.dispatch('ok', { n });
    for (const name of ['flaky', 'refuse', 'fail'])
      await client.dispatch(name, null, { attempts: name === 'fail' ? 1 : 5 });
    await client.dispatch('ok', null, { queue: 'other' });
    await client.dispatch('ok', null, { delay: '1h' });
    const run = await here.run(['flush', '--json']);
    expect(run.code).toBe(0);
    expect(run.json()).toEqual({
      completed: 5,
      failed: 1,
      buried: 2,
      cancelled: 0,
      snoozed: 0,
      putBack: 0,
      died: 0,
      leaseLost: 0,
    });
    expect(run.stderr).toContain('millrace flush --queue other');
    expect(await here.run(['flush', '--queue', 'other,default'])).toMatchObject({
      code: 0,
      stdout: '1 completed, 0 failed, 0 buried, 0 put back\n',
    });
  });

  test('TERM lets a running job end; one that takes longer than the stop timeout is put back uncharged', async () => {
    await using here = await project();
    const client = here.client();
    const quick = await client.dispatch('wait', { ms: 600 });
    const long = await client.dispatch('wait', { ms: 60_000 });
    const worker = here.start(['work', '--stop-timeout', '1200ms', '--json']);
    await waitFor(
      async () => (await long.job())?.status === 'processing' && (await quick.job())?.status === 'processing',
      {
        describe: 'both jobs to run',
      },
    );
    worker.child.kill('SIGTERM');
    const run = await worker.ended;
    expect(run.code).toBe(0);
    expect(run.stderr).toMatch(/drain: done, jobs_done=1, exiting/);
    expect(run.json()).toMatchObject({ completed: 1, putBack: 1, exit: 0 });
    expect(await quick.job()).toMatchObject({ status: 'completed', result: 'waited' });
    expect(await long.job()).toMatchObject({ status: 'pending', attempts: 0, reason: 'worker-stopping' });
  });

  test('a second signal ends at once, also with a handler that does not listen', async () => {
    await using here = await project();
    const job = await here.client().dispatch('stubborn');
    const worker = here.start(['work', '--stop-timeout', '1h']);
    await waitFor(async () => (await job.job())?.status === 'processing', { describe: 'the job to run' });
    worker.child.kill('SIGINT');
    await worker.says(/a second signal aborts it/);
    // npm passes on what the terminal has told already: that is no second press.
    worker.child.kill('SIGINT');
    const toldAt = performance.now();
    await waitFor(() => performance.now() - toldAt > 300, { describe: 'the echo of a signal to be over' });
    expect((await job.job())?.status).toBe('processing');
    const from = performance.now();
    worker.child.kill('SIGINT');
    const run = await worker.ended;
    expect(run.code).toBe(130);
    expect(performance.now() - from).toBeLessThan(5000);
    expect(await job.job()).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a worker without a config starts, warns, and runs nothing', async () => {
    await using here = await project(null);
    const env = { MILLRACE_DATABASE: 'sqlite:data/test.db' };
    const job = await here.client().dispatch('ok');
    const worker = here.start(['work'], { env });
    await worker.says(/no millrace\.config\.ts was found.*this worker knows no jobs/s);
    await worker.says(/registered/);
    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    expect((await job.job())?.status).toBe('pending');
  });

  test('a promise that a handler forgot is logged; an exception of its timers ends the worker with 70', async () => {
    await using here = await project();
    const client = here.client();
    const rejecting = await client.dispatch('reject');
    const worker = here.start(['work', '--no-supervisor', '--stop-timeout', '200ms', '--kill-grace', '1s']);
    await worker.says(/a promise was rejected and nobody listened.*left alone/);
    await waitFor(async () => (await rejecting.job())?.status === 'completed', {
      describe: 'the job to complete',
    });
    const crashing = await client.dispatch('crash');
    const run = await worker.ended;
    expect(run.code).toBe(70);
    expect(run.stderr).toMatch(/an exception escaped every handler.*out of nowhere/);
    expect(run.stderr).not.toMatch(/^ {4}at /m);
    expect((await crashing.job())?.status).toBe('pending');
  });

  test.each([
    ['a setting that can’t be', {}, ['--concurrency', '0'], /--concurrency: expected/],
    [
      'settings that contradict each other',
      { MILLRACE_STALE_TIMEOUT: '2s' },
      [],
      /shorter than three heartbeats/,
    ],
    ['an address that is none', {}, ['--database', 'nothing'], /database-url-invalid/],
    ['a config that is not there', {}, ['--config', 'nope.ts'], /there is none at/],
  ])('%s is exit 64 at once', async (_what, env, args, message) => {
    await using here = await project();
    const run = await here.run(['work', ...args], { env });
    expect(run).toMatchObject({ code: 64, stdout: '' });
    expect(run.stderr).toMatch(message);
  });

  test('what a handler prints stays out of the document', async () => {
    await using here = await project();
    await here.client().dispatch('chatty');
    const run = await here.run(['flush', '--json']);
    expect(run.json()).toMatchObject({ completed: 1 });
    expect(run.stderr).toContain('chatter of a handler');
  });

  test('a worker waits for a database that is away, and stops at once when told', async () => {
    await using here = await project();
    const worker = here.start(['work', '--database', 'postgres://u:p@127.0.0.1:1/x']);
    await worker.says(/storage does not open, trying again.*tries=1/s);
    worker.child.kill('SIGTERM');
    const run = await worker.ended;
    expect(run.code).toBe(0);
    expect(run.stderr).not.toContain(':p@');
  });

  test.each([
    ['pg', 'postgres://u:p@127.0.0.1:1/x'],
    ['mysql2', 'mysql://u:p@127.0.0.1:1/x'],
    ['better-sqlite3', 'sqlite:x.db'],
  ])('a missing %s is told with the command that installs it, at once', async (driver, database) => {
    await using here = await project();
    await here.write('hooks.mjs', withoutPackage(driver));
    await here.write('x.db', '');
    const env = { NODE_OPTIONS: `--import ${pathToFileURL(here.file('hooks.mjs'))}` };
    const [looking, working] = await Promise.all([
      here.run(['status', '--database', database], { env }),
      here.run(['work', '--database', database], { env }),
    ]);
    expect(looking).toMatchObject({ code: 1, stdout: '' });
    for (const { stderr } of [looking, working]) {
      expect(stderr).toMatch(new RegExp(`npm install ${driver}.*\\[driver-missing\\]`));
    }
    expect(working.code).toBe(64);
  });

  test('log lines are JSON objects on request', async () => {
    await using here = await project();
    const worker = here.start(['work', '--log-format', 'json']);
    await worker.says(/registered/);
    worker.child.kill('SIGTERM');
    const { stderr } = await worker.ended;
    for (const line of stderr.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('message');
  });
});
