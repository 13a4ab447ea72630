import { MillraceError } from '../internal/errors.js';
import { parseDatabaseUrl } from './database-url.js';

/**
 * All migrations of the engine of an address as one SQL script, without touching the database.
 *
 * @throws MillraceError `database-url-invalid` for an engine without tables
 */
export async function migrationScript(address: string): Promise<string> {
  const database = parseDatabaseUrl(address);
  switch (database.engine) {
    case 'memory':
      throw new MillraceError(
        'database-url-invalid',
        'migrations: expected a database with tables, got memory:',
      );
    case 'sqlite':
      return (await import('./sqlite/schema.js')).sqliteMigrationScript();
    case 'postgres':
      return (await import('./postgres/migrate.js')).postgresMigrationScript(database.schema);
    case 'mysql':
      return (await import('./mysql/migrate.js')).mysqlMigrationScript(database.tablePrefix);
  }
}
