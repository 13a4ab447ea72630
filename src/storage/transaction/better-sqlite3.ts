import { hasMethods, membersOf, type SyncHandle } from './handle.js';
import { txInvalid } from './tx-errors.js';

interface Statement {
  safeIntegers(toggle: boolean): Statement;
  raw(toggle: boolean): Statement;
  all(...values: readonly unknown[]): unknown[];
  run(...values: readonly unknown[]): { readonly changes: number };
}

interface Database {
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
}

/** A `Database` of better-sqlite3. Its statements are done when they return. */
export function betterSqlite3Handle(tx: object): SyncHandle | null {
  if (!hasMethods(tx, 'prepare', 'pragma') || typeof membersOf(tx)['inTransaction'] !== 'boolean')
    return null;
  const database = tx as unknown as Database;
  if (!database.inTransaction) {
    throw txInvalid({
      got: 'a better-sqlite3 database that is in no transaction',
      fix: 'Dispatch inside database.transaction(() => { … })(), or after "begin"',
    });
  }
  return {
    mode: 'sync',
    label: 'a better-sqlite3 database',
    dialect: 'sqlite',
    identity: tx,
    rows: (sql, values) =>
      database
        .prepare(sql)
        .safeIntegers(false)
        .raw(true)
        .all(...values) as unknown[][],
    objects: (sql, values) =>
      database
        .prepare(sql)
        .safeIntegers(false)
        .all(...values) as object[],
    changes: (sql, values) => database.prepare(sql).run(...values).changes,
  };
}
