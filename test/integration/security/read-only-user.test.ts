import mysql from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { createStorage } from '../../../src/storage/open-storage.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

/** A user who may look and nothing else; gone at the end. */
async function reader(
  engine: 'postgres' | 'mysql',
  address: string,
): Promise<{ url: string } & AsyncDisposable> {
  const user = `millrace_reader_${process.pid}_${Date.now().toString(36)}`;
  const database = new URL(address).pathname.slice(1);
  const url = new URL(address);
  url.username = user;
  url.password = 'reader';
  if (engine === 'postgres') {
    const client = new pg.Client({ connectionString: address });
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`create role ${user} login password 'reader'`);
    await client.query(`grant usage on schema millrace to ${user}`);
    await client.query(`grant select on all tables in schema millrace to ${user}`);
    return {
      url: url.href,
      async [Symbol.asyncDispose]() {
        await client.query(`drop owned by ${user}`);
        await client.query(`drop role ${user}`);
        await client.end();
      },
    };
  }
  const connection = await mysql.createConnection(address);
  await connection.query(`create user '${user}'@'%' identified by 'reader'`);
  await connection.query(`grant select on \`${database}\`.* to '${user}'@'%'`);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await connection.query(`drop user '${user}'@'%'`);
      await connection.end();
    },
  };
}

for (const engine of ['postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] a database user who may only read`, () => {
    test('looks, is told at once when it may not write, and keeps no worker from being stopped', async () => {
      await using database = await emptyDatabase(engine);
      const owner = await createStorage(database.address, { migrate: 'auto' });
      await owner.open();
      await owner.close();
      await using user = await reader(engine, database.address);
      await using writing = new Millrace({ database: database.address });
      const { id } = await writing.dispatch('work', {});

      const logged: string[] = [];
      const log = (message: string, fields?: object): void =>
        void logged.push(`${message} ${JSON.stringify(fields)}`);
      await using millrace = new Millrace({
        database: user.url,
        jobs: [defineJob('work', { run: () => 1 })],
        logger: { debug: () => undefined, info: () => undefined, warn: log, error: log },
      });
      expect(await millrace.job(id)).toMatchObject({ status: 'pending' });
      expect((await millrace.jobs()).jobs).toHaveLength(1);
      expect(await millrace.stats('default')).toMatchObject({ pending: 1, claimable: 1 });

      const startedAt = performance.now();
      const denied = { code: 'database-access-denied', retryable: false };
      await expect(millrace.dispatch('work', {})).rejects.toMatchObject(denied);
      await expect(millrace.dispatchMany([{ job: 'work', input: {} }])).rejects.toMatchObject(denied);
      await expect(millrace.cancel(id)).rejects.toMatchObject(denied);
      await expect(millrace.pause('default')).rejects.toMatchObject(denied);
      expect(performance.now() - startedAt).toBeLessThan(5_000);

      const worker = millrace.worker();
      const started = worker.start().catch((error: unknown) => error);
      await waitFor(() => logged.some((line) => /denied|permission/i.test(line)), {
        describe: 'the log to say what is missing',
      });
      await worker.stop({ deadlineMs: 100 });
      expect(await started).toBeInstanceOf(Error);
      expect(await writing.job(id)).toMatchObject({ status: 'pending', deaths: 0 });
    });
  });
}

describe.skipIf(!engineAvailable('postgres'))('[postgres] a server that has become read-only', () => {
  test('is said so, and waited for: the next primary takes the dispatch', async () => {
    await using database = await emptyDatabase('postgres');
    const name = new URL(database.address).pathname.slice(1);
    await using millrace = new Millrace({
      database: database.address,
      migrate: 'auto',
      dispatchTimeout: '20s',
    });
    await millrace.open();
    const admin = new pg.Client({ connectionString: database.address });
    // It may still say goodbye when its database is dropped.
    admin.on('error', () => undefined);
    await admin.connect();
    await admin.query(`alter database ${name} set default_transaction_read_only = on`);
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    const dispatched = millrace.dispatch('work', {});
    await expect(millrace.pause('default')).rejects.toMatchObject({
      code: expect.stringMatching(/read-only|connection-lost/),
    });
    await admin.query('set default_transaction_read_only = off');
    await admin.query(`alter database ${name} reset default_transaction_read_only`);
    const handle = await dispatched;
    expect(await handle.job()).toMatchObject({ status: 'pending' });
    await admin.end();
  });
});
