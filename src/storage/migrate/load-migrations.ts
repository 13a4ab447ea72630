import { expectedGot, MillraceError } from '../../internal/errors.js';
import type { Migration } from './migration.js';
import type { MigrationTexts } from './read-migration-files.js';

const fileName = /^(\d{4})_([a-z0-9]+(?:-[a-z0-9]+)*)\.sql$/;
const oldestCodeLine = /^-- oldest-code: (\d+)\s*$/;

/**
 * The migrations of an engine, in order.
 *
 * @throws MillraceError `internal` when there is none, or one is misnamed, out of order or without its header
 */
export function loadMigrations(texts: MigrationTexts): Migration[] {
  const names = Object.keys(texts).sort();
  const migrations = names.map((name) => parse(name, texts[name] ?? ''));
  for (const [index, migration] of migrations.entries()) {
    if (migration.number !== index + 1) {
      throw broken('migrations', `number ${index + 1} next, without gaps or doubles`, migration.number);
    }
  }
  if (migrations.length === 0) throw broken('migrations', 'at least one .sql file', 'none');
  return migrations;
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
