import mysql from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { silentLogger as logger } from '../../src/internal/logger.js';
import { createStorage } from '../../src/storage/open-storage.js';
import { emptyDatabase, engineAvailable } from '../support/engines.js';
import { waitFor } from '../support/wait-for.js';

const count = defineJob('count', { run: () => 1 });
const bounded = defineJob('bounded', { limit: { group: 'g', max: 2 }, run: () => 2 });
const others = ['a', 'b', 'c', 'd'].map((name) => defineJob(name, { run: () => name }));

/**
 * A process remembers by which numbers the tables know queues, names and lines. When they were dropped and made anew under it,
 * as by a restore into a running system, it claimed jobs under names that were others', and held them for ever; or dispatched
 * jobs that no claim looked for.
 */
describe.each(['postgres', 'mysql'] as const)(
  '[%s] tables that are made anew under a running worker',
  (name) => {
    test.skipIf(!engineAvailable(name))(
      'it goes on with them, and remembers nothing of the old ones',
      async () => {
        await using database = await emptyDatabase(name);
        const client = (): Millrace =>
          new Millrace({
            ...{ database: database.address, jobs: [count, bounded, ...others], logger, migrate: 'auto' },
            ...{ workerSleep: '100ms', dispatchTimeout: '2s' },
          });
        await using millrace = client();
        await using worker = millrace.worker();
        await worker.start();
        const run = async (from: Millrace): Promise<unknown[]> => {
          const handles = [await from.dispatch(count), await from.dispatch(bounded)];
          return Promise.all(handles.map((handle) => handle.result({ timeout: '15s' })));
        };
        expect(await run(millrace)).toEqual([1, 2]);
        await (name === 'postgres' ? dropSchema(database.address) : dropTables(database.address));
        await waitFor(
          () =>
            millrace.dispatch(count).then(never, ({ code }: { code: string }) => code === 'schema-missing'),
          {
            describe: 'the tables to be missed',
          },
        );
        // Other names come first in the new tables, so that every number means something else.
        const storage = await createStorage(database.address, { migrate: 'auto' });
        await storage.open();
        await storage.close();
        await using other = client();
        await other.dispatchMany(others.map((job) => ({ job, input: undefined })));
        expect(await run(other)).toEqual([1, 2]);
        expect(await run(millrace)).toEqual([1, 2]);
      },
      60_000,
    );
  },
);

const never = (): false => false;

async function dropSchema(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('drop schema millrace cascade');
  await client.end();
}

async function dropTables(url: string): Promise<void> {
  const connection = await mysql.createConnection(url);
  const [rows] = await connection.query<mysql.RowDataPacket[]>(
    'select table_name as name from information_schema.tables where table_schema = database()',
  );
  await connection.query('set foreign_key_checks = 0');
  await connection.query(`drop table ${rows.map(({ name }) => `\`${String(name)}\``).join(', ')}`);
  await connection.end();
}
