import { PrismaPg } from '@prisma/adapter-pg';
import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { CamelCasePlugin, Kysely, sql as kyselySql, ParseJSONResultsPlugin, PostgresDialect } from 'kysely';
import pg from 'pg';
import { PrismaClient } from './prisma/generated/postgresql/client.js';
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

const insertNote = 'insert into notes (text_of) values ($1)';

type Open = (pool: pg.Pool) => Pick<UserDatabase, 'transaction'>;

/** An application whose integers come back as BigInt : what parsers may do to any query. */
const oddTypes = {
  getTypeParser: (oid: number) => (text: string) =>
    oid === 20 || oid === 23 || oid === 21 ? BigInt(text) : oid === 16 ? text === 't' : text,
};

function postgresKind(name: string, open: Open): UserKind {
  return {
    engine: 'postgres',
    name,
    isAwaited: true,
    async open(address) {
      const pool = new pg.Pool({ connectionString: address, max: 4 });
      // It may still say goodbye when its database is dropped.
      pool.on('error', () => undefined);
      // The database is dropped right after the pool has ended, maybe under a connection that is still saying goodbye.
      pool.on('connect', (client) => client.on('error', () => undefined));
      await pool.query(makeNotes);
      return {
        ...open(pool),
        notes: async () => (await pool.query(readNotes)).rows.map((row) => row.text_of as string),
        [Symbol.asyncDispose]: () => pool.end(),
      };
    },
  };
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const answer = await work(client);
    await client.query('commit');
    return answer;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const rawTx = (client: pg.PoolClient, tx: unknown): UserTx => ({
  tx: tx as never,
  isSync: false,
  insert: (text) => client.query(insertNote, [text]),
  run: (sql) => client.query(sql),
});

export const postgresKinds: readonly UserKind[] = [
  postgresKind('pg', (pool) => ({
    transaction: (steps) => withClient(pool, (client) => driveAwaited(steps(rawTx(client, client)))),
  })),
  postgresKind('pg, before it told its status', (pool) => ({
    transaction: (steps) =>
      withClient(pool, (client) => {
        const old = new Proxy(client, {
          get: (target, key) => {
            if (key === 'getTransactionStatus') return undefined;
            const value: unknown = Reflect.get(target, key, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
        return driveAwaited(steps(rawTx(client, old)));
      }),
  })),
  postgresKind('Kysely', (pool) => {
    const db = new Kysely<object>({
      dialect: new PostgresDialect({ pool }),
      plugins: [new CamelCasePlugin(), new ParseJSONResultsPlugin()],
    });
    return {
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
    };
  }),
  postgresKind('Drizzle', (pool) => {
    const db = drizzle(pool, { casing: 'snake_case' });
    return {
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
    };
  }),
  postgresKind('Prisma', (pool) => ({
    transaction: transact(new PrismaClient({ adapter: new PrismaPg(pool) })),
  })),
  postgresKind('Prisma before its adapters', (pool) => ({
    transaction: (steps) =>
      withClient(pool, (client) => {
        const tx = prismaLike(async (text, values) => {
          const { rows, rowCount } = await client.query({ text, values: [...values], types: oddTypes });
          return { rows, changed: rowCount ?? 0 };
        });
        return driveAwaited(steps(rawTx(client, tx)));
      }),
  })),
];
