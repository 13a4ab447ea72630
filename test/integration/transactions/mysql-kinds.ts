import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/mysql2';
import { CamelCasePlugin, Kysely, sql as kyselySql, MysqlDialect, ParseJSONResultsPlugin } from 'kysely';
import callbackMysql from 'mysql2';
import mysql from 'mysql2/promise';
import { PrismaClient } from './prisma/generated/mysql/client.js';
import { transact } from './prisma/transact.js';
import { prismaLike } from './prisma-like.js';
import {
  driveAwaited,
  makeNotes,
  readNotes,
  type UserDatabase,
  type UserKind,
  type UserTx,
} from './user-database.js';

const insertNote = 'insert into notes (text_of) values (?)';

type Open = (address: string) => Promise<Pick<UserDatabase, 'transaction' | typeof Symbol.asyncDispose>>;

function mysqlKind(name: string, open: Open): UserKind {
  return {
    engine: 'mysql',
    name,
    isAwaited: true,
    async open(address) {
      const reading = await mysql.createConnection(address);
      await reading.query(makeNotes);
      const opened = await open(address);
      return {
        transaction: opened.transaction,
        notes: async () => {
          const [rows] = await reading.query<mysql.RowDataPacket[]>(readNotes);
          return rows.map((row) => row['text_of'] as string);
        },
        async [Symbol.asyncDispose]() {
          await opened[Symbol.asyncDispose]();
          await reading.end();
        },
      };
    },
  };
}

/** What an application may have told its driver about numbers. */
const oddNumbers = { supportBigNumbers: true, bigNumberStrings: true } as const;

async function between<T>(connection: mysql.Connection, work: () => Promise<T>): Promise<T> {
  await connection.beginTransaction();
  try {
    const answer = await work();
    await connection.commit();
    return answer;
  } catch (error) {
    await connection.rollback();
    throw error;
  }
}

const rawTx = (connection: mysql.Connection, tx: unknown): UserTx => ({
  tx: tx as never,
  isSync: false,
  insert: (text) => connection.execute(insertNote, [text]),
  run: (sql) => connection.query(sql),
});

/** Transactions of one application run side by side, each on a connection of its own. */
function pooled(
  address: string,
  transaction: (connection: mysql.PoolConnection) => UserDatabase['transaction'],
): Awaited<ReturnType<Open>> {
  const pool = mysql.createPool({ uri: address, connectionLimit: 4, ...oddNumbers });
  return {
    async transaction(steps) {
      const connection = await pool.getConnection();
      try {
        return await transaction(connection)(steps);
      } finally {
        connection.release();
      }
    },
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

export const mysqlKinds: readonly UserKind[] = [
  mysqlKind('mysql2, with promises', async (address) =>
    Promise.resolve(
      pooled(
        address,
        (connection) => (steps) =>
          between(connection, () => driveAwaited(steps(rawTx(connection, connection)))),
      ),
    ),
  ),
  mysqlKind('mysql2, with callbacks', async (address) =>
    Promise.resolve(
      pooled(address, (connection) => (steps) => {
        const { connection: withCallbacks } = connection as unknown as {
          connection: callbackMysql.Connection;
        };
        return between(connection, () => driveAwaited(steps(rawTx(connection, withCallbacks))));
      }),
    ),
  ),
  mysqlKind('Kysely', async (address) => {
    const db = new Kysely<object>({
      dialect: new MysqlDialect({
        pool: callbackMysql.createPool({ uri: address, connectionLimit: 4, ...oddNumbers }),
      }),
      plugins: [new CamelCasePlugin(), new ParseJSONResultsPlugin()],
    });
    return Promise.resolve({
      transaction: (steps) =>
        db.transaction().execute((trx) =>
          driveAwaited(
            steps({
              tx: trx as never,
              isSync: false,
              insert: (text) => kyselySql`insert into notes (text_of) values (${text})`.execute(trx),
              run: (text) => kyselySql.raw(text).execute(trx),
            }),
          ),
        ),
      [Symbol.asyncDispose]: () => db.destroy(),
    });
  }),
  mysqlKind('Drizzle', async (address) => {
    const pool = mysql.createPool({ uri: address, connectionLimit: 4, ...oddNumbers });
    const db = drizzle(pool, { casing: 'snake_case' });
    return Promise.resolve({
      transaction: (steps) =>
        db.transaction((tx) =>
          driveAwaited(
            steps({
              tx: tx as never,
              isSync: false,
              insert: (text) => tx.execute(drizzleSql`insert into notes (text_of) values (${text})`),
              run: (text) => tx.execute(drizzleSql.raw(text)),
            }),
          ),
        ),
      [Symbol.asyncDispose]: () => pool.end(),
    });
  }),
  mysqlKind('Prisma', async (address) => {
    const { hostname, port, username, password, pathname } = new URL(address);
    const client = new PrismaClient({
      adapter: new PrismaMariaDb({
        host: hostname,
        port: Number(port || 3306),
        user: decodeURIComponent(username),
        password: decodeURIComponent(password),
        database: decodeURIComponent(pathname.slice(1)),
        connectionLimit: 4,
      }),
    });
    return Promise.resolve({
      transaction: transact(client),
      [Symbol.asyncDispose]: () => client.$disconnect(),
    });
  }),
  mysqlKind('Prisma before its adapters', async (address) =>
    Promise.resolve(
      pooled(address, (connection) => (steps) => {
        const tx = prismaLike(async (sql, values) => {
          const [answer] = await connection.query(sql, [...values]);
          const rows = Array.isArray(answer) ? (answer as object[]) : [];
          return { rows, changed: Array.isArray(answer) ? 0 : answer.affectedRows };
        });
        return between(connection, () => driveAwaited(steps(rawTx(connection, tx))));
      }),
    ),
  ),
];
