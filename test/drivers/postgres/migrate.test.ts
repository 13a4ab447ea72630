import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasErrorCode } from '../../../src/internal/errors.js';
import { postgresMigrationScript } from '../../../src/storage/postgres/migrate.js';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { claimRequest, newJob, withClient } from './fixture.js';

describe.skipIf(!serverAvailable('postgres'))('[postgres] migrations', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await testDatabase('postgres');
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
  });

  const worksIn = async (schema: string): Promise<void> => {
    const storage = new PostgresStorage({ url: database.url, schema });
    await storage.open();
    try {
      const job = newJob();
      await storage.enqueue([job]);
      expect((await storage.claim(claimRequest())).map(({ id }) => id)).toEqual([job.id]);
    } finally {
      await storage.close();
    }
  };

  test('an unmigrated database is refused with the command that cures it', async () => {
    const storage = new PostgresStorage({ url: database.url });
    await expect(storage.open()).rejects.toSatisfy((error) => hasErrorCode(error, 'schema-missing'));
    await expect(storage.open()).rejects.toThrow(/millrace migrate/);
    await storage.close();
  });

  test('of eight migrators at once one does the work', async () => {
    const reports = await Promise.all(
      Array.from({ length: 8 }, () => new PostgresStorage({ url: database.url }).migrate()),
    );
    const applied = reports.map((report) => report.applied.length).sort();
    expect(applied.slice(0, 7)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(applied[7]).toBeGreaterThan(0);
    await worksIn('millrace');
  });

  test('two schemas of one database do not know each other', async () => {
    for (const schema of ['one', 'Two_In_Capitals']) {
      await new PostgresStorage({ url: database.url, schema }).migrate();
      await worksIn(schema);
    }
    const tables = await withClient(database.url, (client) =>
      client.query(
        "select 1 from pg_tables where schemaname not in ('pg_catalog', 'information_schema', 'one', 'Two_In_Capitals')",
      ),
    );
    expect(tables.rows).toEqual([]);
  });

  test('the printed script does what migrate does', async () => {
    await withClient(database.url, (client) => client.query(postgresMigrationScript('by_hand')));
    expect(await new PostgresStorage({ url: database.url, schema: 'by_hand' }).migrate()).toMatchObject({
      applied: [],
    });
    await worksIn('by_hand');
  });

  test('a schema that only newer code may use is refused', async () => {
    await new PostgresStorage({ url: database.url }).migrate();
    await withClient(database.url, (client) =>
      client.query('insert into millrace.migrations values (99, 99)'),
    );
    const storage = new PostgresStorage({ url: database.url });
    await expect(storage.open()).rejects.toSatisfy((error) => hasErrorCode(error, 'schema-too-new'));
  });

  test.each(['', 'a b', '1a', 'a"b', 'x'.repeat(41)])('a schema named %j is refused', (schema) => {
    expect(() => new PostgresStorage({ url: database.url, schema })).toThrow(/schema/);
  });
});
