/*
 * What `tx` may be, for the compiler: by structure, so that no driver and no ORM is imported. At run time
 * `recognise.ts` looks again, and more closely. Parameters are `never`, which every function's parameters accept.
 */

/** A `Client` or `PoolClient` of `pg` between `begin` and `commit`. */
export interface PgTransaction {
  query(...args: never[]): unknown;
  escapeLiteral(text: string): string;
}

/** A connection of `mysql2` between `beginTransaction` and `commit`, with callbacks or promises. */
export interface Mysql2Transaction {
  query(...args: never[]): unknown;
  execute(...args: never[]): unknown;
  beginTransaction(...args: never[]): unknown;
}

/** A `Transaction` of Kysely, on PostgreSQL, MySQL or SQLite. */
export interface KyselyTransaction {
  readonly isTransaction: true;
  executeQuery(...args: never[]): unknown;
}

/** A transaction of Drizzle on PostgreSQL or MySQL. */
export interface DrizzleTransaction {
  execute(...args: never[]): unknown;
  rollback(): never;
}

/** An interactive transaction of Prisma, or what has its two methods. */
export interface PrismaTransaction {
  $queryRawUnsafe(sql: string, ...values: never[]): unknown;
  $executeRawUnsafe(sql: string, ...values: never[]): unknown;
}

/** A `Database` of better-sqlite3 inside `database.transaction(…)`, or after `begin`. */
export interface BetterSqlite3Transaction {
  readonly inTransaction: boolean;
  prepare(sql: string): unknown;
  pragma(source: string): unknown;
}

/** A transaction of Drizzle on better-sqlite3. */
export interface DrizzleSqliteTransaction {
  run(...args: never[]): unknown;
  values(...args: never[]): unknown;
  rollback(): never;
}

/** An open transaction of yours in which Millrace writes; `commit` and `rollback` stay yours. */
export type UserTransaction =
  | PgTransaction
  | Mysql2Transaction
  | KyselyTransaction
  | DrizzleTransaction
  | PrismaTransaction;

/** An open transaction whose statements are done when they return: only `dispatchSync` and its like take it. */
export type SyncUserTransaction = BetterSqlite3Transaction | DrizzleSqliteTransaction;
