import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expectedGot, MillraceError } from '../../internal/errors.js';
import type { Migration } from './migration.js';

const fileName = /^(\d{4})_([a-z0-9]+(?:-[a-z0-9]+)*)\.sql$/;
const oldestCodeLine = /^-- oldest-code: (\d+)\s*$/;

/**
 * The migrations of a folder (its URL ends in `/`), in order.
 *
 * @throws MillraceError `internal` when the folder is missing, or a file in it is misnamed, out of order or without its header
 */
export function loadMigrations(dir: URL): Migration[] {
  const names = list(dir).filter((name) => name.endsWith('.sql'));
  const migrations = names.sort().map((name) => parse(name, readFileSync(new URL(name, dir), 'utf8')));
  for (const [index, migration] of migrations.entries()) {
    if (migration.number !== index + 1) {
      throw broken(
        `migrations in ${fileURLToPath(dir)}`,
        `number ${index + 1} next, without gaps or doubles`,
        migration.number,
      );
    }
  }
  if (migrations.length === 0)
    throw broken(`migrations in ${fileURLToPath(dir)}`, 'at least one .sql file', 'none');
  return migrations;
}

function list(dir: URL): string[] {
  try {
    return readdirSync(dir);
  } catch (cause) {
    throw new MillraceError(
      'internal',
      `the folder of migrations ${fileURLToPath(dir)} cannot be read. ` +
        'It is part of the package millrace: a bundler has to keep that package external.',
      { cause },
    );
  }
}

function parse(name: string, sql: string): Migration {
  const [, number, title] = fileName.exec(name) ?? [];
  if (number === undefined || title === undefined)
    throw broken('migration file', 'a name such as 0001_first-tables.sql', name);
  const oldestCode = oldestCodeIn(sql);
  if (oldestCode === undefined || oldestCode < 1 || oldestCode > Number(number)) {
    throw broken(
      `header of migration ${name}`,
      `a line "-- oldest-code: N", N from 1 to ${Number(number)}`,
      oldestCode,
    );
  }
  return { number: Number(number), title: title.replaceAll('-', ' '), sql, oldestCode };
}

/** Only the comment lines at the top are read. */
function oldestCodeIn(sql: string): number | undefined {
  for (const line of sql.split('\n')) {
    if (!line.startsWith('--')) return undefined;
    const value = oldestCodeLine.exec(line)?.[1];
    if (value !== undefined) return Number(value);
  }
  return undefined;
}

const broken = (what: string, expected: string, got: unknown): MillraceError =>
  new MillraceError('internal', expectedGot({ what, expected, got }));
