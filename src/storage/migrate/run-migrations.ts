import { isMillraceError, MillraceError } from '../../internal/errors.js';
import type { Migration, SchemaState } from './migration.js';

/** What an engine gives so that its schema can be moved on. */
export interface MigrationTarget {
  /** Resolves once no other migrator is at work; waits for one that is, within the statement deadline. */
  lock(): Promise<AsyncDisposable>;
  /** Null where there is nothing of ours yet. Read under the lock. */
  read(): Promise<SchemaState | null>;
  /** Runs the SQL and records number and `oldestCode`: in one transaction where the engine can, else repeatable. */
  apply(migration: Migration): Promise<void>;
}

export interface MigrationReport {
  /** Version before; 0 = there was none. */
  readonly from: number;
  /** Version now. */
  readonly to: number;
  readonly applied: readonly Migration[];
}

/**
 * Applies what is missing, in order. Of two that run at once one waits, and then finds nothing to do. A newer schema is
 * left as it is.
 *
 * @throws MillraceError `migration-failed` naming the migration; what can be cured by waiting passes as it is
 */
export async function runMigrations(
  target: MigrationTarget,
  migrations: readonly Migration[],
): Promise<MigrationReport> {
  await using _lock = await target.lock();
  const from = (await target.read())?.version ?? 0;
  const applied: Migration[] = [];
  for (const migration of migrations.slice(from)) {
    await applyOne(target, migration);
    applied.push(migration);
  }
  return { from, to: from + applied.length, applied };
}

async function applyOne(target: MigrationTarget, migration: Migration): Promise<void> {
  try {
    await target.apply(migration);
  } catch (cause) {
    if (isMillraceError(cause) && cause.retryable) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError(
      'migration-failed',
      `migration ${migration.number} (${migration.title}) could not be applied: ${why}. ` +
        'Cure the cause and run millrace migrate again; it goes on from here',
      { cause, details: { number: migration.number, title: migration.title } },
    );
  }
}
