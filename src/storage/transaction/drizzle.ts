import { type Dialect, type Handle, membersOf } from './handle.js';
import { txInvalid } from './tx-errors.js';

/** Drizzle marks its classes with their names under a symbol that all its copies share. */
const entityKind: unique symbol = Symbol.for('drizzle:entityKind') as never;

interface Drizzle {
  execute(query: object): Promise<unknown>;
  run(query: object): { readonly changes: number };
  all(query: object): object[];
  values(query: object): unknown[][];
}

const dialects: Readonly<Record<string, Dialect>> = {
  PgDatabase: 'postgres',
  MySqlDatabase: 'mysql',
  BaseSQLiteDatabase: 'sqlite',
};

/** A transaction of Drizzle. */
export function drizzleHandle(tx: object): Handle | null {
  const kinds = kindsOf(tx);
  const dialect = kinds.map((kind) => dialects[kind]).find((found) => found !== undefined);
  if (dialect === undefined) return null;
  if (!kinds.some((kind) => /^(?:Pg|MySql|SQLite)Transaction$/.test(kind))) {
    throw txInvalid({
      got: 'a Drizzle database that is in no transaction',
      fix: 'Pass the object that db.transaction((tx) => …) gives you',
    });
  }
  const drizzle = tx as unknown as Drizzle;
  const label = `a Drizzle transaction of ${dialect}`;
  if (dialect === 'sqlite') return sqliteHandle(tx, drizzle, label);
  return {
    mode: 'async',
    label,
    dialect,
    identity: tx,
    async run(sql, values) {
      return dialect === 'postgres'
        ? postgresAnswer(await drizzle.execute(rawQuery(sql, values)))
        : mysqlAnswer(await drizzle.execute(rawQuery(sql, values)));
    },
  };
}

function sqliteHandle(tx: object, drizzle: Drizzle, label: string): Handle {
  if (membersOf(tx)['resultKind'] !== 'sync') {
    throw txInvalid({
      got: 'a Drizzle transaction of an SQLite driver other than better-sqlite3',
      fix: 'Use drizzle-orm/better-sqlite3 on the file that holds the jobs',
    });
  }
  return {
    mode: 'sync',
    label,
    dialect: 'sqlite',
    identity: tx,
    rows: (sql, values) => drizzle.values(rawQuery(sql, values)),
    objects: (sql, values) => drizzle.all(rawQuery(sql, values)),
    changes: (sql, values) => drizzle.run(rawQuery(sql, values)).changes,
  };
}

/** All that Drizzle asks of a query of its `sql` tag. */
function rawQuery(sql: string, params: readonly unknown[]): object {
  const query = { getSQL: () => query, toQuery: () => ({ sql, params: [...params] }) };
  return query;
}

/** node-postgres answers an object with rows, other drivers the rows themselves. */
function postgresAnswer(answer: unknown): { rows: readonly unknown[]; changed: number } {
  if (Array.isArray(answer)) return { rows: answer, changed: answer.length };
  const { rows = [], rowCount } = answer as { rows?: readonly unknown[]; rowCount?: number | null };
  return { rows, changed: rowCount ?? 0 };
}

function mysqlAnswer(answer: unknown): { rows: readonly unknown[]; changed: number } {
  const [first] = answer as readonly unknown[];
  if (Array.isArray(first)) return { rows: first, changed: 0 };
  return { rows: [], changed: (first as { affectedRows?: number } | undefined)?.affectedRows ?? 0 };
}

function kindsOf(tx: object): string[] {
  const kinds: string[] = [];
  for (let at: unknown = tx.constructor; typeof at === 'function'; at = Object.getPrototypeOf(at)) {
    const kind: unknown = Object.hasOwn(at, entityKind) ? Reflect.get(at, entityKind) : undefined;
    if (typeof kind === 'string') kinds.push(kind);
  }
  return kinds;
}
