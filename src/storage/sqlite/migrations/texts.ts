import { type MigrationTexts, readMigrationFiles } from '../../migrate/read-migration-files.js';

/** The SQL files beside this one. In the built package they stand here themselves. */
export const migrationTexts = (): MigrationTexts => readMigrationFiles(new URL('./', import.meta.url));
