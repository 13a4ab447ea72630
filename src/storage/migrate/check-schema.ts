import { MillraceError } from '../../internal/errors.js';
import type { Migration, SchemaState } from './migration.js';

const howToMigrate = "Run: npx millrace migrate --database <its URL>, or give the client migrate: 'auto'";

/**
 * Whether this code may work on the schema that was found. The rule stands in `migration.ts`.
 *
 * @throws MillraceError `schema-missing`, `schema-too-old`, `schema-too-new`
 */
export function checkSchema(check: {
  readonly found: SchemaState | null;
  readonly migrations: readonly Migration[];
}): void {
  const { found } = check;
  const newest = check.migrations.length;
  if (found === null || found.version === 0) {
    throw new MillraceError('schema-missing', `the database has no Millrace tables yet. ${howToMigrate}`, {
      details: { needed: newest },
    });
  }
  const details = { found: found.version, oldestCode: found.oldestCode, known: newest };
  if (found.version < newest - 1) {
    throw new MillraceError(
      'schema-too-old',
      `the tables are at version ${found.version}; this version of Millrace needs ${newest - 1} or ${newest}. ${howToMigrate}`,
      { details },
    );
  }
  if (found.version > newest && found.oldestCode > newest) {
    throw new MillraceError(
      'schema-too-new',
      `the tables are at version ${found.version} and admit only code that knows version ${found.oldestCode}; ` +
        `this one knows ${newest} (millrace migrate of a newer Millrace was run). Upgrade the package millrace in this process`,
      { details },
    );
  }
}
