import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../../internal/errors.js';

/** The texts of an engine's migrations, by file name. */
export type MigrationTexts = Readonly<Record<string, string>>;

/**
 * The `.sql` files of a folder (its URL ends in `/`). Only sources read them: the build puts the texts themselves in
 * place of each call (scripts/finish-build.mjs), so that an application can be bundled into one file.
 *
 * @throws MillraceError `internal` when the folder can't be read
 */
export function readMigrationFiles(dir: URL): MigrationTexts {
  const names = list(dir).filter((name) => name.endsWith('.sql'));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(new URL(name, dir), 'utf8')]));
}

function list(dir: URL): string[] {
  try {
    return readdirSync(dir);
  } catch (cause) {
    throw new MillraceError(
      'internal',
      `the folder of migrations ${fileURLToPath(dir)} cannot be read. Sources of millrace run only in its repository; ` +
        'everything else uses the built package',
      { cause },
    );
  }
}
