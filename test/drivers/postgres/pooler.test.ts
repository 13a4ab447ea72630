import { chmodSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { findProgram, unprivilegedIdentity } from '../../support/servers/binaries.js';
import { freePort, startServer } from '../../support/servers/private-process.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { type TempDir, tempDir } from '../../support/temp.js';
import { claimRequest, newJob, withClient } from './fixture.js';

const program = findProgram('pgbouncer');
const workers = 8;
const jobsEach = 25;

/** Skipped where PgBouncer is not installed: it is no part of what Millrace needs. */
describe.skipIf(program === undefined || !serverAvailable('postgres'))('[postgres] behind PgBouncer', () => {
  let database: TestDatabase;
  let folder: TempDir;
  let stop: () => Promise<void>;
  let url: string;

  beforeAll(async () => {
    database = await testDatabase('postgres');
    await new PostgresStorage({ url: database.url }).migrate();
    folder = tempDir('pgbouncer');
    chmodSync(folder.path, 0o755);
    const server = new URL(database.url);
    const port = await freePort();
    const pooled = new URL(database.url);
    pooled.port = String(port);
    url = pooled.href;
    const login = [`user=${decodeURIComponent(server.username)}`];
    if (server.password !== '') login.push(`password=${decodeURIComponent(server.password)}`);
    writeFileSync(
      folder.file('pgbouncer.ini'),
      `[databases]\n* = host=${server.hostname} port=${server.port || 5432} ${login.join(' ')}\n` +
        `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any\nunix_socket_dir =\n` +
        'pool_mode = transaction\ndefault_pool_size = 3\n',
    );
    stop = await startServer({
      program: program ?? '',
      args: [folder.file('pgbouncer.ini')],
      folder: folder.path,
      identity: unprivilegedIdentity('postgres'),
      stopSignal: 'SIGTERM',
      isReady: () => withClient(url, (client) => client.query('select 1')),
    });
  });
  afterAll(async () => {
    await stop?.();
    await folder?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  test.each([{ prepare: false }, {}])(
    'in transaction mode, given %j, every job is done once',
    async (option) => {
      const storages = Array.from({ length: workers }, () => new PostgresStorage({ url, ...option }));
      try {
        await Promise.all(storages.map((storage) => storage.open()));
        await Promise.all(
          storages.map((storage) => storage.enqueue(Array.from({ length: jobsEach }, () => newJob()))),
        );
        const done = await Promise.all(storages.map(drain));
        expect(new Set(done.flat()).size).toBe(workers * jobsEach);
        expect(done.flat()).toHaveLength(workers * jobsEach);
        expect(storages.map((storage) => storage.capabilities.push)).toEqual(storages.map(() => false));
        await using _watch = await storages[0]?.watch(() => undefined);
      } finally {
        for (const storage of storages) await storage.close();
      }
    },
  );

  test('migrations hold their lock', async () => {
    const schema = 'pooled';
    const reports = await Promise.all(
      Array.from({ length: 3 }, () => new PostgresStorage({ url, schema }).migrate()),
    );
    expect(reports.filter((report) => report.applied.length > 0)).toHaveLength(1);
  });
});

async function drain(storage: PostgresStorage): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    const jobs = await storage.claim(claimRequest({ limit: 7 }));
    if (jobs.length === 0) return done;
    const outcomes = await storage.settle(
      jobs.map(({ id, token }) => ({ id, token, kind: 'completed', result: null })),
    );
    for (const [index, job] of jobs.entries()) if (outcomes[index] === 'done') done.push(job.id);
  }
}
