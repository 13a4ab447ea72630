import { checkSchema } from '../migrate/check-schema.js';
import { loadMigrations } from '../migrate/load-migrations.js';
import type { Migration, SchemaState } from '../migrate/migration.js';
import { printMigrations } from '../migrate/print-migrations.js';
import { type MigrationReport, type MigrationTarget, runMigrations } from '../migrate/run-migrations.js';
import type { Connection } from './connection.js';
import { toMillraceError } from './errors.js';
import { migrationTexts } from './migrations/texts.js';
import { type PatienceOptions, whenUnlocked } from './patience.js';
import * as sql from './queries/schema.js';

export const sqliteMigrations = (): Migration[] => loadMigrations(migrationTexts());

/** All migrations as one script. */
export const sqliteMigrationScript = (): string =>
  `${sql.makeVersions.trim()};\n\n${printMigrations(sqliteMigrations(), sql.recordMigration)}`;

/**
 * Brings the schema up to date and checks that this code may use it. What is up to date already is not locked.
 *
 * @throws MillraceError `database-locked` when another connection holds the file for too long, and what `checkSchema` throws
 */
export async function migrate(db: Connection, deadlineMs: number): Promise<MigrationReport> {
  const migrations = sqliteMigrations();
  const patience = { name: 'migrate', file: db.file, deadlineMs };
  const read = (): Promise<{ found: SchemaState | null }> =>
    whenUnlocked(() => ({ found: readSchema(db) }), patience);
  const { found } = await read();
  const isCurrent = found !== null && found.version >= migrations.length;
  const report = isCurrent
    ? { from: found.version, to: found.version, applied: [] }
    : await runMigrations(new SqliteMigrationTarget(db, patience), migrations);
  checkSchema({ ...(await read()), migrations });
  return report;
}

function readSchema(db: Connection): SchemaState | null {
  if (db.value(sql.hasVersions) === undefined) return null;
  return db.get<SchemaState>(sql.newestVersion) ?? null;
}

/** The write lock is the lock of migrators; each migration is all or nothing inside it. */
class SqliteMigrationTarget implements MigrationTarget {
  readonly #db: Connection;
  readonly #patience: PatienceOptions;

  constructor(db: Connection, patience: PatienceOptions) {
    this.#db = db;
    this.#patience = patience;
  }

  async lock(): Promise<AsyncDisposable> {
    await whenUnlocked(() => {
      this.#db.run('begin immediate');
      return true;
    }, this.#patience);
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
