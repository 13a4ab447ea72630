import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { mysqlMigrationScript, mysqlMigrations, statementsOf } from '../../../src/storage/mysql/migrate.js';
import { MysqlStorage } from '../../../src/storage/mysql/storage.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';

describe.skipIf(!serverAvailable('mysql'))('[mysql] migrations', () => {
  let database: TestDatabase;
  let admin: Connection;

  beforeEach(async () => {
    database = await testDatabase('mysql');
    admin = await createConnection({ uri: database.url, multipleStatements: true });
  });
  afterEach(async () => {
    admin.destroy();
    await database[Symbol.asyncDispose]();
  });

  const newest = mysqlMigrations().length;
  const storageWith = (options: { tablePrefix?: string } = {}): MysqlStorage =>
    new MysqlStorage({ url: database.url, ...options });

  async function tables(): Promise<string[]> {
    const [rows] = await admin.query<(RowDataPacket & { name: string })[]>(
      'select table_name as name from information_schema.tables where table_schema = database()',
    );
    return rows.map(({ name }) => name).sort();
  }

  async function opens(storage: MysqlStorage): Promise<void> {
    await storage.open();
    await storage.close();
  }

  test('a database without our tables is refused with the command that makes them', async () => {
    await expect(storageWith().open()).rejects.toMatchObject({
      code: 'schema-missing',
      message: expect.stringContaining('millrace migrate'),
    });
    expect(await tables()).toEqual([]);
  });

  test('of two that migrate at once one does it, and the other finds nothing to do', async () => {
    const reports = await Promise.all([storageWith().migrate(), storageWith().migrate()]);
    expect(reports.map(({ applied }) => applied.length).sort()).toEqual([0, newest]);
    expect(reports.map(({ to }) => to)).toEqual([newest, newest]);
    await opens(storageWith());
  });

  test('a migration that stopped after any of its statements is taken up again', async () => {
    const [first] = mysqlMigrations();
    if (first === undefined) throw new Error('there is no migration');
    const statements = statementsOf(first, 'millrace_');
    for (const statement of statements.slice(0, statements.length / 2)) await admin.query(statement.text);
    await expect(storageWith().open()).rejects.toMatchObject({ code: 'schema-missing' });
    expect(await storageWith().migrate()).toMatchObject({ from: 0, to: newest });
    await opens(storageWith());
  });

  test('the printed script does the same as the command', async () => {
    await admin.query(mysqlMigrationScript());
    const byScript = await tables();
    await opens(storageWith());
    expect(await storageWith().migrate()).toMatchObject({ from: newest, to: newest, applied: [] });
    expect(await tables()).toEqual(byScript);
  });

  test('two prefixes are two queues in one database', async () => {
    for (const tablePrefix of ['a_', 'b_']) await storageWith({ tablePrefix }).migrate();
    const names = await tables();
    expect(names.filter((name) => name.startsWith('a_')).length).toBe(names.length / 2);
    const [a, b] = [storageWith({ tablePrefix: 'a_' }), storageWith({ tablePrefix: 'b_' })];
    await Promise.all([a.open(), b.open()]);
    await a.setPaused('q', true);
    expect([await a.pausedQueues(), await b.pausedQueues()]).toEqual([['q'], []]);
    await Promise.all([a.close(), b.close()]);
  });

  test('a schema that admits only newer code is refused, one that still admits ours is not', async () => {
    await storageWith().migrate();
    await admin.query(`insert into millrace_schema values (${newest + 1}, ${newest}, 0)`);
    await opens(storageWith());
    await admin.query(`insert into millrace_schema values (${newest + 2}, ${newest + 1}, 0)`);
    await expect(storageWith().open()).rejects.toMatchObject({ code: 'schema-too-new' });
  });

  test('a prefix or an address that could carry anything else is refused before it is used', () => {
    for (const tablePrefix of ['a`b', "a'", 'a b', 'a;', 'ü', 'a'.repeat(41)]) {
      expect(() => storageWith({ tablePrefix })).toThrow(/tablePrefix/);
    }
    for (const url of [
      'mysql://h',
      'postgres://h/db',
      'mysql://h/db?multipleStatements=true',
      'mysql://h/db?flags=x',
      'x',
    ]) {
      expect(() => new MysqlStorage({ url })).toThrow(/database address/);
    }
  });
});
