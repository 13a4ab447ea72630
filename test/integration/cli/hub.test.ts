import { createServer, type Server } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { WorkerListing } from '../../../src/index.js';
import { SERVER_ENGINES, serverAvailable, testDatabase } from '../../support/servers.js';
import { waitFor } from '../../support/wait-for.js';
import { jobsModule, type Project, project, type Started } from './project.js';

const nowhere = 'postgres://nobody:geheim@127.0.0.1:1/x';

/** Where a hub says that it listens. */
async function urlOf(hub: Started): Promise<string> {
  await hub.says(/hub: listening on http:\/\/\S+/);
  return /listening on (http:\/\/\S+)/.exec(hub.stderr())?.[1] ?? '';
}

async function taken(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

async function linkedWorker(here: Project): Promise<WorkerListing> {
  const client = here.client();
  return waitFor(
    async () => (await client.workers()).find(({ state, alive }) => alive && state === 'RUNNING'),
    { describe: 'a worker to run', deadlineMs: 30_000, intervalMs: 100 },
  );
}

describe('[sqlite] millrace hub', { timeout: 120_000 }, () => {
  test('runs jobs by a worker that can reach no database, and both end by a signal', async () => {
    await using here = await project();
    await using elsewhere = await project(`
import { defineConfig } from 'millrace';
import { jobs } from './jobs.mjs';
export default defineConfig({ database: '${nowhere}', jobs });
`);
    await elsewhere.write('jobs.mjs', jobsModule);
    const hub = here.start(['hub', '--port', '0'], { longestMs: 110_000 });
    const url = await urlOf(hub);
    const ws = url.replace('http', 'ws');
    const worker = elsewhere.start(['work', '--hub', ws], { longestMs: 100_000 });
    const client = here.client();
    const done = await client.dispatch('ok', { n: 1 });
    expect(await done.result({ timeout: '40s' })).toEqual({ got: { n: 1 } });
    const failed = await client.dispatch('fail', null);
    await expect(failed.result({ timeout: '30s' })).rejects.toMatchObject({ code: 'job-failed' });

    const listing = await linkedWorker(here);
    expect(listing).toMatchObject({ link: 'hub', status: 'active', routable: true });
    const table = await here.run(['workers']);
    expect(table.stdout).toMatch(/LINK/);
    expect(table.stdout).toMatch(/ hub /);
    const { workers } = (await here.run(['workers', '--json'])).json<{ workers: WorkerListing[] }>();
    expect(workers).toEqual([expect.objectContaining({ link: 'hub', hubId: listing.hubId })]);
    expect(listing.hubId).toMatch(/./);

    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
    expect(worker.stderr()).not.toMatch(/database|geheim/);
    hub.child.kill('SIGTERM');
    const run = await hub.ended;
    expect(run.code, run.stderr).toBe(0);
    expect(run.stderr).toMatch(/hub: stopped/);
  });

  test('says where it listens, answers there, and ends by a signal', async () => {
    await using here = await project();
    const hub = here.start(['hub', '--port', '0'], { longestMs: 110_000 });
    const url = await urlOf(hub);
    expect(hub.stderr()).toMatch(/starting .*database=.*sqlite:/);
    expect(await (await fetch(`${url}/workers`)).json()).toEqual({ workers: [] });
    hub.child.kill('SIGTERM');
    const run = await hub.ended;
    expect(run.code, run.stderr).toBe(0);
    expect(run.stderr).toMatch(/hub: stopped/);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  test('a taken port is one sentence and 75', async () => {
    await using here = await project();
    const { server, port } = await taken();
    const run = await here.run(['hub', '--port', String(port)]);
    server.close();
    expect(run.code).toBe(75);
    expect(run.stderr).toMatch(
      /millrace: .*port \d+: another process listens there.*\[hub-not-listening\]\n$/,
    );
  });

  test('beyond loopback it does not listen while there is no token', async () => {
    await using here = await project();
    const run = await here.run(['hub', '--host', '0.0.0.0', '--port', '0']);
    expect(run.code).toBe(75);
    expect(run.stderr).toMatch(/millrace token create/);
    expect(run.stderr.match(/tokens-missing/g)).toHaveLength(1);
  });

  test.each([
    ['a port that is none', ['--port', 'x'], /--port: expected a whole number from 0 to 65535, got "x"/],
    ['a port beyond all', ['--port', '70000'], /--port: expected .*got "70000"/],
    ['a lease too short', ['--heartbeat', '1h'], /MILLRACE_STALE_TIMEOUT/],
  ])('%s is exit 64 and told', async (_what, flags, message) => {
    await using here = await project();
    const run = await here.run(['hub', ...flags]);
    expect(run.stderr).toMatch(message);
    expect(run).toMatchObject({ code: 64, stdout: '' });
  });
});

describe('[postgres] a hub whose database is away', { timeout: 60_000 }, () => {
  test('listens, says so, and ends in time all the same', async () => {
    await using here = await project();
    const env = { MILLRACE_DATABASE: nowhere };
    const hub = here.start(['hub', '--port', '0'], { env, longestMs: 50_000 });
    const url = await urlOf(hub);
    await hub.says(/storage does not open|database-unreachable/);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    hub.child.kill('SIGTERM');
    const run = await hub.ended;
    expect(run.code, run.stderr).toBe(0);
    expect(run.stderr).not.toContain('geheim');
  });
});

describe.each(SERVER_ENGINES)('[%s] a hub over an unmigrated server', { timeout: 60_000 }, (engine) => {
  test.skipIf(!serverAvailable(engine))('ends with 75 and the command to run', async () => {
    await using database = await testDatabase(engine);
    await using here = await project();
    const run = await here.run(['hub', '--port', '0'], { env: { MILLRACE_DATABASE: database.url } });
    expect(run.code, run.stderr).toBe(75);
    expect(run.stderr).toMatch(/millrace migrate.*\[schema-missing\]\n$/);
  });
});
