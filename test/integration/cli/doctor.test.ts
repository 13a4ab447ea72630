import { chmod, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { project } from './project.js';

interface DoctorDocument {
  readonly ok: boolean;
  readonly checks: readonly { check: string; status: string; message: string; fix: string | null }[];
}

describe('[sqlite] millrace doctor', () => {
  test('a sound setup is exit 0, and every check says what it saw', async () => {
    await using here = await project();
    await here.run(['migrate']);
    const [document, text] = await Promise.all([here.run(['doctor', '--json']), here.run(['doctor'])]);
    const { ok, checks } = document.json<DoctorDocument>();
    expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect(ok).toBe(true);
    expect(document.code).toBe(0);
    const names = checks.map(({ check }) => check);
    for (const name of [
      'node',
      'config',
      'settings',
      'database',
      'schema',
      'clock',
      'oldest due job',
      'workers',
      'file permissions',
    ])
      expect(names).toContain(name);
    expect(text.stdout).toMatch(/^ok {4}node/);
  });

  test('due jobs that nobody serves are told with the command that cures it', async () => {
    await using here = await project();
    const job = await here.client().dispatch('ok', null, { queue: 'media', runAt: Date.now() - 3_600_000 });
    expect(job.deduplicated).toBe(false);
    const run = await here.run(['doctor', '--json']);
    const { ok, checks } = run.json<DoctorDocument>();
    expect(run.code).toBe(1);
    expect(ok).toBe(false);
    expect(checks).toContainEqual({
      check: 'workers',
      status: 'fail',
      message: 'queue media has 1 due job and no live worker',
      fix: 'Run: millrace work --queue media',
    });
    expect(checks.find(({ check }) => check === 'oldest due job')?.status).toBe('warn');
  });

  test('a machine without a Chrome is told where jobs ask for one', async () => {
    await using here = await project(`
      import { defineConfig, defineJob } from 'millrace';
      export default defineConfig({
        database: 'sqlite:data/test.db',
        chromePath: '/nowhere/chrome',
        jobs: [defineJob('look', { lane: 'browser', run() {} })],
      });
    `);
    await here.run(['migrate']);
    const { checks } = (await here.run(['doctor', '--json'])).json<DoctorDocument>();
    expect(checks.find(({ check }) => check === 'chrome')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('CHROME_PATH=/nowhere/chrome'),
      fix: expect.stringContaining('npm i @sparticuz/chromium'),
    });
    expect(checks.find(({ check }) => check === 'browser lanes')?.message).toContain('(look)');
  });

  test('two maxima of one group are told, and a cost that no budget allows is a failure', async () => {
    await using here = await project(`
      import { defineConfig, defineJob } from 'millrace';
      const limit = (max) => ({ group: 'smtp', max });
      export default defineConfig({
        database: 'sqlite:data/test.db',
        jobs: [
          defineJob('one', { limit: limit(3), run() {} }),
          defineJob('two', { limit: limit(5), cost: 7, queue: 'heavy', run() {} }),
        ],
      });`);
    await here.run(['migrate']);
    const ofLimits = async (env: Record<string, string>) => {
      const run = await here.run(['doctor', '--json'], { env });
      return run.json<DoctorDocument>().checks.filter(({ check }) => check === 'limits');
    };
    expect(await ofLimits({})).toMatchObject([
      { status: 'warn', message: expect.stringContaining('3 of job one and 5 of job two') },
    ]);
    expect(await ofLimits({ RESOURCE_QUEUE_COST_BUDGETS: 'heavy=5' })).toMatchObject([
      { status: 'warn' },
      { status: 'fail', message: expect.stringContaining('more than the budget of 5 of queue heavy') },
    ]);
  });

  test('contradicting settings, a paused queue and open permissions are told, as one failure or as warnings', async () => {
    await using here = await project();
    const client = here.client();
    await client.dispatch('ok', null, { queue: 'media' });
    await client.pause('media');
    await chmod(here.file('data/test.db'), 0o666);
    const warned = await here.run(['doctor', '--json'], { env: { WORKER_TTL: '20s' } });
    const { checks } = warned.json<DoctorDocument>();
    const warnings = checks.filter(({ status }) => status === 'warn').map(({ check }) => check);
    expect(warnings).toEqual(['settings', 'settings', 'paused queues', 'file permissions']);
    expect(warned.code).toBe(0);

    const failed = await here.run(['doctor', '--json'], { env: { MILLRACE_STALE_TIMEOUT: '2s' } });
    expect(failed.code).toBe(1);
    expect(failed.json<DoctorDocument>().checks).toMatchObject([
      { check: 'config and settings', status: 'fail' },
    ]);
  });

  test('a file that is no database is one clear failure', async () => {
    await using here = await project();
    await here.run(['migrate']);
    await writeFile(here.file('other.db'), 'this is a text, and longer than a hundred bytes. '.repeat(20));
    const run = await here.run(['doctor', '--database', 'sqlite:other.db', '--json']);
    expect(run.code).toBe(1);
    expect(run.json<DoctorDocument>().checks.at(-1)).toMatchObject({ check: 'database', status: 'fail' });
    const looked = await here.run(['status', '--database', 'sqlite:other.db']);
    expect(looked).toMatchObject({ code: 1, stdout: '' });
    expect(looked.stderr).toContain('[database-corrupt]');
  });
});
