import type { Engine } from '../capabilities.js';

export type Dialect = Exclude<Engine, 'memory'>;

/** What one statement answered on a connection of the user's. */
export interface HandleAnswer {
  /** Each an array, or an object whose entries stand in the order of the columns. */
  readonly rows: readonly unknown[];
  /** How many rows it wrote, where it answers none. */
  readonly changed: number;
  /** Only raw `mysql2`: whether the connection is in a transaction, as the server said with this answer. */
  readonly isInTransaction?: boolean | undefined;
}

/** A transaction of the user's, as an engine uses it: no more than running one statement. */
export interface AsyncHandle {
  readonly mode: 'async';
  /** For messages, as in `a Kysely transaction`. */
  readonly label: string;
  /** Null: it doesn't say. */
  readonly dialect: Dialect | null;
  /** The object of the user, as the identity of the transaction. */
  readonly identity: object;
  run(sql: string, values: readonly HandleValue[]): Promise<HandleAnswer>;
}

/** The same where statements are done when they return. */
export interface SyncHandle {
  readonly mode: 'sync';
  readonly label: string;
  readonly dialect: 'sqlite';
  readonly identity: object;
  rows(sql: string, values: readonly HandleValue[]): readonly (readonly unknown[])[];
  objects(sql: string, values: readonly HandleValue[]): readonly object[];
  changes(sql: string, values: readonly HandleValue[]): number;
}

export type HandleValue = string | number | Buffer | null;
export type Handle = AsyncHandle | SyncHandle;

type Unknown = Readonly<Record<string, unknown>>;
/** An object whose members are looked at one by one. */
export const membersOf = (value: object): Unknown => value as Unknown;

/** Whether all of these are functions. */
export function hasMethods(value: object, ...names: readonly string[]): boolean {
  return names.every((name) => typeof membersOf(value)[name] === 'function');
}

/** Whether a statement of ours answers rows. */
export const answersRows = (sql: string): boolean => /^\s*(?:select|with)\b|\breturning\b/i.test(sql);

/** A row as an array, whatever the handle made of it. */
export function columnsOf(row: unknown): readonly unknown[] {
  return Array.isArray(row) ? row : Object.values(row as object);
}
