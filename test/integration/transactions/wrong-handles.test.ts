import { PrismaPg } from '@prisma/adapter-pg';
import Database from 'better-sqlite3';
import { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3';
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import { Kysely, MysqlDialect, PostgresDialect, SqliteDialect } from 'kysely';
import callbackMysql from 'mysql2';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import { createStorage } from '../../../src/storage/open-storage.js';
import { emptyDatabase, engineAvailable, openEngine } from '../../support/engines.js';
import { tempDir } from '../../support/temp.js';
import { mysqlKinds } from './mysql-kinds.js';
import { postgresKinds } from './postgres-kinds.js';
import { PrismaClient } from './prisma/generated/postgresql/client.js';
import { sqliteFile, sqliteKinds } from './sqlite-kinds.js';
import { openStage } from './stage.js';

/** Every form of a call with `tx` refuses it in the same words, and nothing is written. */
async function refuses(millrace: Millrace, tx: unknown, message: RegExp): Promise<void> {
  const given = { tx: tx as never };
  const id = '0199c0de-7a11-7abc-9def-0123456789ab';
  const refused = { code: 'tx-invalid', message: expect.stringMatching(message) };
  await expect(millrace.dispatch('note', 1, given)).rejects.toMatchObject(refused);
  await expect(millrace.dispatchMany([{ job: 'note' }], given)).rejects.toMatchObject(refused);
  await expect(millrace.cancel(id, given)).rejects.toMatchObject(refused);
  await expect(millrace.edit(id, { priority: 'high' }, given)).rejects.toMatchObject(refused);
  expect((await millrace.stats('default')).pending).toBe(0);
}

describe('[memory] a transaction', () => {
  it('is refused by a queue in memory', async () => {
    await using millrace = new Millrace({ database: 'memory:' });
    await refuses(millrace, {}, /in memory, which has none\. Leave "tx" out/);
    expect(() => millrace.dispatchSync('note', 1, { tx: {} as never })).toThrow(/in memory/);
  });

  it('is refused in one entry of a bulk, and where a result is awaited', async () => {
    await using millrace = new Millrace({ database: 'memory:' });
    const entries = [{ job: 'note', options: { tx: {} } as never }] as const;
    await expect(millrace.dispatchMany(entries)).rejects.toMatchObject({ code: 'option-invalid' });
    await expect(millrace.dispatchAndWait('note', 1, { tx: {} } as never)).rejects.toThrow(
      /after your commit/,
    );
  });

  it('is asked for as an option of its name', async () => {
    await using millrace = new Millrace({ database: 'memory:' });
    const given = { transaction: {} } as never;
    await expect(millrace.dispatchMany([{ job: 'note' }], given)).rejects.toMatchObject({
      code: 'option-unknown',
    });
    await expect(millrace.cancel('0199c0de-7a11-7abc-9def-0123456789ab', given)).rejects.toMatchObject({
      code: 'option-unknown',
    });
  });
});

describe('[sqlite] a wrong transaction', () => {
  const [raw] = sqliteKinds;
  if (raw === undefined) throw new Error('there are kinds of SQLite');

  it('is anything else', async () => {
    await using stage = await openStage(raw);
    for (const tx of [null, 1, 'tx', [], {}, new Map(), () => undefined]) {
      await refuses(stage.millrace, tx, /expected an open transaction: a pg client, .* got /);
    }
  });

  it('is of another engine', async () => {
    await using stage = await openStage(raw);
    const client = new pg.Client('postgres://nobody@127.0.0.1:1/none');
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    Object.defineProperty(client, 'getTransactionStatus', { value: () => 'T' });
    await refuses(
      stage.millrace,
      client,
      /expected a transaction of SQLite, where the jobs are, got a pg client/,
    );
  });

  it('is no transaction', async () => {
    await using stage = await openStage(raw);
    const database = new Database(sqliteFile(stage.address));
    try {
      await refuses(stage.millrace, database, /got a better-sqlite3 database that is in no transaction/);
      expect(() => stage.millrace.dispatchSync('note', 1, { tx: database })).toThrow(/in no transaction/);
      await refuses(stage.millrace, drizzleSqlite(database), /a Drizzle database that is in no transaction/);
      const kysely = new Kysely({ dialect: new SqliteDialect({ database }) });
      await refuses(stage.millrace, kysely, /a Kysely instance that is in no transaction/);
    } finally {
      database.close();
    }
  });

  it('is on another file, with or without tables of ours', async () => {
    await using stage = await openStage(raw);
    await using folder = tempDir('other');
    for (const file of [':memory:', folder.file('other.db'), folder.file('tables.db')]) {
      if (file.endsWith('tables.db')) {
        const storage = await createStorage(`sqlite:${file}`);
        await storage.open();
        await storage.close();
      }
      const other = new Database(file);
      try {
        other.exec('begin');
        const dispatch = (): unknown => stage.millrace.dispatchSync('note', 1, { tx: other });
        expect(dispatch).toThrow(
          file === ':memory:' ? /a database in memory/ : /expected a transaction on the SQLite file/,
        );
      } finally {
        other.close();
      }
    }
  });

  it('is the same file under another name', async () => {
    await using stage = await openStage(raw);
    const { dir, base } = {
      dir: sqliteFile(stage.address).replace(/\/[^/]+$/, ''),
      base: sqliteFile(stage.address).replace(/^.*\//, ''),
    };
    const same = new Database(`${dir}/../${dir.replace(/^.*\//, '')}/${base}`);
    try {
      same.transaction(() => stage.millrace.dispatchSync('note', 1, { tx: same }))();
      expect((await stage.millrace.stats('default')).pending).toBe(1);
    } finally {
      same.close();
    }
  });

  it('asks for an open client', async () => {
    await using database = await emptyDatabase('sqlite');
    await using millrace = new Millrace({ database: database.address });
    const own = new Database(sqliteFile(database.address));
    try {
      own.exec('begin');
      expect(() => millrace.dispatchSync('note', 1, { tx: own })).toThrow(/await millrace\.open\(\)/);
      own.exec('rollback');
    } finally {
      own.close();
    }
  });

  it('that is too late to write is told so, and may be begun again', async () => {
    await using stage = await openStage(raw);
    const own = new Database(sqliteFile(stage.address));
    try {
      own.exec('begin');
      own.prepare('select count(*) from notes').get();
      await stage.millrace.dispatch('note', 'in between');
      let thrown: unknown;
      try {
        stage.millrace.dispatchSync('note', 1, { tx: own });
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toMatchObject({ code: 'tx-aborted', message: expect.stringMatching(/begin immediate/) });
      own.exec('rollback');
    } finally {
      own.close();
    }
  });
});

describe.skipIf(!engineAvailable('postgres'))('[postgres] a wrong transaction', () => {
  const [raw] = postgresKinds;
  if (raw === undefined) throw new Error('there are kinds of PostgreSQL');

  it('is a pool, or in no transaction, or of another engine', async () => {
    await using stage = await openStage(raw);
    const pool = new pg.Pool({ connectionString: stage.address, max: 2 });
    // It may still say goodbye when its database is dropped.
    pool.on('error', () => undefined);
    // Its connections may still say goodbye when their database is dropped.
    pool.on('connect', (connected) => connected.on('error', () => undefined));
    const client = await pool.connect();
    try {
      await refuses(stage.millrace, pool, /a pg Pool/);
      await client.query('select 1');
      await refuses(stage.millrace, client, /a pg client that is in no transaction\. Run "begin"/);
      const old = new Proxy(client, {
        get: (target, key) => (key === 'getTransactionStatus' ? undefined : Reflect.get(target, key, target)),
      });
      const given = { tx: old as never };
      await expect(stage.millrace.dispatch('note', 1, given)).rejects.toThrow(/in no transaction/);
      await refuses(stage.millrace, drizzlePg(pool), /a Drizzle database that is in no transaction/);
      await refuses(
        stage.millrace,
        new Kysely({ dialect: new PostgresDialect({ pool }) }),
        /a Kysely instance/,
      );
      const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
      await refuses(stage.millrace, prisma, /a Prisma client that is in no transaction/);
      const extended = prisma.$extends({ name: 'with a name' });
      await refuses(stage.millrace, extended, /a Prisma client that is in no transaction/);
      const memory = new Database(':memory:');
      memory.exec('begin');
      await refuses(
        stage.millrace,
        memory,
        /a transaction of PostgreSQL, where the jobs are, got a better-sqlite3/,
      );
      memory.close();
      expect((await stage.millrace.stats('default')).pending).toBe(0);
    } finally {
      client.release();
      await pool.end();
    }
  });

  it('has failed', async () => {
    await using stage = await openStage(raw);
    const client = new pg.Client(stage.address);
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select 1 / 0').catch(() => undefined);
      await expect(stage.millrace.dispatch('note', 1, { tx: client })).rejects.toMatchObject({
        code: 'tx-aborted',
      });
    } finally {
      await client.end();
    }
  });

  it('is on a database without our tables', async () => {
    await using stage = await openStage(raw);
    await using other = await emptyDatabase('postgres');
    const client = new pg.Client(other.address);
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('begin');
      await expect(stage.millrace.dispatch('note', 1, { tx: client })).rejects.toMatchObject({
        code: 'tx-invalid',
        message: expect.stringMatching(
          /a database without these tables\. Give Millrace and your own connections/,
        ),
      });
    } finally {
      await client.end();
    }
  });

  it('names the tables by the schema of the storage', async () => {
    await using engine = await openEngine('postgres');
    await using millrace = new Millrace({
      database: `${engine.address}?schema=jobs_of_ours`,
      migrate: 'auto',
    });
    await millrace.open();
    const client = new pg.Client(engine.address);
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    try {
      await client.query('begin');
      await client.query('set local search_path to pg_catalog');
      await millrace.dispatch('note', 1, { tx: client });
      await client.query('commit');
    } finally {
      await client.end();
    }
    expect((await millrace.stats('default')).pending).toBe(1);
    expect((await engine.storage.stats('default'))[0]?.pending).toBe(0);
  });
});

describe.skipIf(!engineAvailable('mysql'))('[mysql] a wrong transaction', () => {
  const [raw] = mysqlKinds;
  if (raw === undefined) throw new Error('there are kinds of MySQL');

  it('is a pool, or in no transaction', async () => {
    await using stage = await openStage(raw);
    const pool = mysql.createPool({ uri: stage.address, connectionLimit: 2 });
    const connection = await pool.getConnection();
    const callbacks = callbackMysql.createPool({ uri: stage.address, connectionLimit: 1 });
    try {
      await refuses(stage.millrace, pool, /a mysql2 pool/);
      await refuses(stage.millrace, callbacks, /a mysql2 pool/);
      await refuses(stage.millrace, connection, /a mysql2 connection that is in no transaction/);
      await refuses(stage.millrace, drizzleMysql(pool), /a Drizzle database that is in no transaction/);
      const kysely = new Kysely({ dialect: new MysqlDialect({ pool: callbacks }) });
      await refuses(stage.millrace, kysely, /a Kysely instance that is in no transaction/);
    } finally {
      connection.release();
      await pool.end();
      callbacks.end();
    }
  });

  it('is on another database of the server', async () => {
    await using stage = await openStage(raw);
    await using other = await openEngine('mysql');
    const connection = await mysql.createConnection(other.address);
    try {
      await connection.beginTransaction();
      await refuses(
        stage.millrace,
        connection,
        /expected a transaction on the database that holds the jobs, \w+, got a mysql2 connection on database \w+/,
      );
      expect((await other.storage.stats('default'))[0]?.pending).toBe(0);
    } finally {
      await connection.end();
    }
  });

  it('leaves no variable in the session, and names the tables by the prefix of the storage', async () => {
    await using engine = await openEngine('mysql');
    await using millrace = new Millrace({ database: `${engine.address}?tablePrefix=our_`, migrate: 'auto' });
    await millrace.open();
    const connection = await mysql.createConnection(engine.address);
    try {
      await connection.beginTransaction();
      await millrace.dispatch('note', 1, { tx: connection });
      await connection.commit();
      const [rows] = await connection.query<mysql.RowDataPacket[]>('select @now as now, @guard as guard');
      expect(rows[0]).toEqual({ now: null, guard: null });
    } finally {
      await connection.end();
    }
    expect((await millrace.stats('default')).pending).toBe(1);
    expect((await engine.storage.stats('default'))[0]?.pending).toBe(0);
  });
});
