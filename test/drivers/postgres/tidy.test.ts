import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { waitFor } from '../../support/wait-for.js';
import { claimRequest, newJob, withClient } from './fixture.js';

describe.skipIf(!serverAvailable('postgres'))('[postgres] tidy', () => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  beforeEach(async () => {
    database = await testDatabase('postgres');
    storage = new PostgresStorage({ url: database.url, migrate: 'auto' });
    await storage.open();
  });
  afterEach(async () => {
    await storage.close();
    await database[Symbol.asyncDispose]();
  });

  const drain = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      await storage.enqueue([newJob()]);
      const jobs = await storage.claim(claimRequest());
      await storage.settle(jobs.map(({ id, token }) => ({ id, token, kind: 'completed', result: null })));
    }
  };

  test('counts are folded, and say the same afterwards', async () => {
    await drain(20);
    const before = await storage.stats('default');
    expect(before).toMatchObject([{ completed: 20 }]);
    await storage.tidy({ settled: 20, idle: false });
    const rows = await withClient(database.url, (client) => client.query('select * from millrace.counts'));
    expect(rows.rows).toEqual([{ queue: 'default', status: 3, n: '20' }]);
    expect(await storage.stats('default')).toEqual(before);
  });

  test('the hot table is vacuumed after fifty thousand settled jobs, not before', async () => {
    const vacuums = (): Promise<number> =>
      withClient(database.url, async (client) => {
        const result = await client.query(
          "select vacuum_count::int as n from pg_stat_user_tables where relname = 'jobs'",
        );
        return result.rows[0].n as number;
      });
    await drain(1);
    await storage.tidy({ settled: 49_999, idle: false });
    await storage.tidy({ settled: 0, idle: false });
    expect(await vacuums()).toBe(0);
    await storage.tidy({ settled: 1, idle: false });
    await waitFor(async () => (await vacuums()) === 1, { describe: 'the vacuum to be counted' });
    await storage.tidy({ settled: 1, idle: false });
    expect(await vacuums()).toBe(1);
  });

  test('a kind that is missing from its registry is found again, and its jobs with it', async () => {
    const job = newJob();
    await storage.enqueue([job]);
    await withClient(database.url, (client) => client.query('delete from millrace.kinds'));
    expect(await storage.claim(claimRequest())).toEqual([]);
    await storage.tidy({ settled: 0, idle: true });
    expect((await storage.claim(claimRequest())).map(({ id }) => id)).toEqual([job.id]);
  });
});
