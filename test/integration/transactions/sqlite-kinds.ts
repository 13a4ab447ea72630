import Database from 'better-sqlite3';
import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { CamelCasePlugin, Kysely, sql as kyselySql, ParseJSONResultsPlugin, SqliteDialect } from 'kysely';
import { prismaLike } from './prisma-like.js';
import {
  driveAwaited,
  driveSync,
  makeNotes,
  readNotes,
  type UserDatabase,
  type UserKind,
} from './user-database.js';

export const sqliteFile = (address: string): string => address.replace(/^sqlite:/, '').replace(/\?.*$/, '');

type Open = (database: Database.Database) => Pick<UserDatabase, 'transaction'>;

function sqliteKind(name: string, isAwaited: boolean, open: Open): UserKind {
  return {
    engine: 'sqlite',
    name,
    isAwaited,
    async open(address) {
      const database = new Database(sqliteFile(address));
      database.pragma('journal_mode = wal');
      database.exec(makeNotes);
      const reading = new Database(sqliteFile(address));
      return {
        ...open(database),
        notes: () => Promise.resolve(reading.prepare(readNotes).pluck().all() as string[]),
        [Symbol.asyncDispose]: () => {
          database.close();
          reading.close();
          return Promise.resolve();
        },
      };
    },
  };
}

const insertNote = 'insert into notes (text_of) values (?)';

export const sqliteKinds: readonly UserKind[] = [
  sqliteKind('better-sqlite3', false, (database) => ({
    transaction: async (steps) => {
      const body = database.transaction(() =>
        driveSync(
          steps({
            tx: database as never,
            isSync: true,
            insert: (text) => database.prepare(insertNote).run(text),
            run: (sql) => database.exec(sql),
          }),
        ),
      );
      return Promise.resolve(body.immediate());
    },
  })),
  sqliteKind('better-sqlite3 with BigInts, deferred', false, (database) => {
    database.defaultSafeIntegers(true);
    return {
      transaction: async (steps) =>
        Promise.resolve(
          database.transaction(() =>
            driveSync(
              steps({
                tx: database as never,
                isSync: true,
                insert: (text) => database.prepare(insertNote).run(text),
                run: (sql) => database.exec(sql),
              }),
            ),
          )(),
        ),
    };
  }),
  sqliteKind('Drizzle', false, (database) => {
    const db = drizzle(database);
    return {
      transaction: async (steps) =>
        Promise.resolve(
          db.transaction(
            (tx) =>
              driveSync(
                steps({
                  tx: tx as never,
                  isSync: true,
                  insert: (text) => tx.run(drizzleSql`insert into notes (text_of) values (${text})`),
                  run: (text) => tx.run(drizzleSql.raw(text)),
                }),
              ),
            { behavior: 'immediate' },
          ),
        ),
    };
  }),
  sqliteKind('Kysely', true, (database) => {
    const db = new Kysely<object>({
      dialect: new SqliteDialect({ database }),
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
  sqliteKind('Prisma-style', true, (database) => {
    database.defaultSafeIntegers(true);
    const tx = prismaLike((sql, values) => {
      const statement = database.prepare(sql);
      if (statement.reader)
        return Promise.resolve({ rows: statement.all(...values) as object[], changed: 0 });
      return Promise.resolve({ rows: [], changed: statement.run(...values).changes });
    });
    const oneAtATime = createTurns();
    return {
      transaction: (steps) =>
        oneAtATime(async () => {
          database.exec('begin');
          try {
            const answer = await driveAwaited(
              steps({
                tx: tx as never,
                isSync: false,
                insert: (text) => tx.$executeRawUnsafe(insertNote, text),
                run: (sql) => tx.$executeRawUnsafe(sql),
              }),
            );
            database.exec('commit');
            return answer;
          } catch (error) {
            if (database.inTransaction) database.exec('rollback');
            throw error;
          }
        }),
    };
  }),
];

/** One connection has one transaction at a time: those that come meanwhile wait, as at Prisma. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}
