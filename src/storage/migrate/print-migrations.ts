import type { Migration } from './migration.js';

/**
 * The migrations as one script for people who apply SQL by hand (`millrace migrate --sql`).
 *
 * @param record the statement by which the engine notes that a migration was applied, where its SQL does not do so itself
 */
export function printMigrations(
  migrations: readonly Migration[],
  record?: (migration: Migration) => string,
): string {
  const parts = migrations.map((migration) => {
    const lines = [`-- Migration ${migration.number}: ${migration.title}`, migration.sql.trimEnd()];
    if (record !== undefined) lines.push(record(migration));
    return `${lines.join('\n')}\n`;
  });
  return parts.join('\n');
}
