import { parseDatabaseUrl } from './database-url.js';
import type { Diagnosis } from './diagnosis.js';
import type { MigrationReport } from './migrate/run-migrations.js';
import type { Storage, StorageOptions } from './storage.js';

export interface CreateStorageOptions extends StorageOptions {
  /** Servers: `auto` brings the schema up to date on open, `check` refuses one that doesn't fit. @default 'check' */
  readonly migrate?: 'auto' | 'check' | undefined;
  /** SQLite: a file that is missing is waited for (`database-gone`), not made. @default false */
  readonly mustExist?: boolean | undefined;
}

/** A storage, and what only those with a database of their own can do. */
export type EngineStorage = Storage & {
  /** Brings the schema up to date; the memory one has none. */
  migrate?(): Promise<MigrationReport>;
  /** Looks at the database from an operator's side, for `millrace doctor`. Changes nothing. */
  diagnose?(): Promise<Diagnosis[]>;
};

/**
 * The storage of a database address, not yet open. Only its engine's code is loaded, and the driver on `open`.
 *
 * @throws MillraceError `database-url-invalid`
 */
export async function createStorage(
  address: string,
  options: CreateStorageOptions = {},
): Promise<EngineStorage> {
  const database = parseDatabaseUrl(address);
  const { migrate, mustExist, ...common } = options;
  switch (database.engine) {
    case 'memory': {
      const { MemoryStorage } = await import('./memory/storage.js');
      return new MemoryStorage(common);
    }
    case 'sqlite': {
      const { file, synchronous } = database;
      const { SqliteStorage } = await import('./sqlite/storage.js');
      return new SqliteStorage({ ...common, file, ...given({ synchronous, mustExist }) });
    }
    case 'postgres': {
      const { url, schema, prepare } = database;
      const { PostgresStorage } = await import('./postgres/storage.js');
      return new PostgresStorage({ ...common, url, ...given({ schema, prepare, migrate }) });
    }
    case 'mysql': {
      const { url, tablePrefix } = database;
      const { MysqlStorage } = await import('./mysql/storage.js');
      return new MysqlStorage({ ...common, url, ...given({ tablePrefix, migrate }) });
    }
  }
}

type Given<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Without what was left out: an option that is undefined is not the same as none. */
function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;
}
