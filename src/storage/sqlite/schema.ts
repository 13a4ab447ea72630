import { checkSchema } from '../migrate/check-schema.js';
import { loadMigrations } from '../migrate/load-migrations.js';
import type { Migration, SchemaState } from '../migrate/migration.js';
import { printMigrations } from '../migrate/print-migrations.js';
import { type MigrationReport, type MigrationTarget, runMigrations } from '../migrate/run-migrations.js';
import type { Connection } from './connection.js';
import { toMillraceError } from './errors.js';
import * as sql from './queries/schema.js';

export const sqliteMigrations = (): Migration[] => loadMigrations(new URL('./migrations/', import.meta.url));

/** All migrations as one script. */
export const sqliteMigrationScript = (): string =>
  `${sql.makeVersions.trim()};\n\n${printMigrations(sqliteMigrations(), sql.recordMigration)}`;

/**
 * Brings the schema up to date and checks that this code may use it. What is up to date already is not locked.
 *
 * @param begin resolves inside a write transaction of this connection
 */
export async function migrate(db: Connection, begin: () => Promise<void>): Promise<MigrationReport> {
  const migrations = sqliteMigrations();
  const found = readSchema(db);
  const isCurrent = found !== null && found.version >= migrations.length;
  const report = isCurrent
    ? { from: found.version, to: found.version, applied: [] }
    : await runMigrations(new SqliteMigrationTarget(db, begin), migrations);
  checkSchema({ found: readSchema(db), migrations });
  return report;
}

function readSchema(db: Connection): SchemaState | null {
  if (db.value(sql.hasVersions) === undefined) return null;
  return db.get<SchemaState>(sql.newestVersion) ?? null;
}

/** The write lock is the lock of migrators; each migration is all or nothing inside it. */
class SqliteMigrationTarget implements MigrationTarget {
  readonly #db: Connection;
  readonly #begin: () => Promise<void>;

  constructor(db: Connection, begin: () => Promise<void>) {
    this.#db = db;
    this.#begin = begin;
  }

  async lock(): Promise<AsyncDisposable> {
    await this.#begin();
    return {
      [Symbol.asyncDispose]: () => {
        try {
          if (this.#db.isInTransaction) this.#db.run('commit');
          return Promise.resolve();
        } catch (error) {
          this.#db.rollback();
          return Promise.reject(toMillraceError(error, this.#db.file));
        }
      },
    };
  }

  read(): Promise<SchemaState | null> {
    return Promise.resolve(readSchema(this.#db));
  }

  apply(migration: Migration): Promise<void> {
    try {
      this.#db.execute('savepoint migration');
      this.#db.execute(`${sql.makeVersions};\n${migration.sql}\n${sql.recordMigration(migration)}`);
      this.#db.execute('release migration');
      return Promise.resolve();
    } catch (error) {
      if (this.#db.isInTransaction) this.#db.execute('rollback to migration; release migration');
      return Promise.reject(toMillraceError(error, this.#db.file));
    }
  }
}
