import { isMillraceError, MillraceError } from '../../internal/errors.js';
import { sha256Hex } from '../../internal/hash.js';
import { loadMigrations } from '../migrate/load-migrations.js';
import type { Migration, SchemaState } from '../migrate/migration.js';
import { printMigrations } from '../migrate/print-migrations.js';
import type { MigrationTarget } from '../migrate/run-migrations.js';
import { migrationTexts } from './migrations/texts.js';
import { defaultTablePrefix } from './options.js';
import type { Session } from './session.js';
import { hexText, migrationText, type Sql, sql } from './sql.js';
import { type Tables, tablesWith } from './tables.js';

export const mysqlMigrations = (): Migration[] => loadMigrations(migrationTexts());

/** All migrations as one script, for people who apply SQL by hand. */
export function mysqlMigrationScript(tablePrefix = defaultTablePrefix): string {
  const t = tablesWith(tablePrefix);
  const migrations = mysqlMigrations().map((migration) => ({
    ...migration,
    sql: migrationText(migration.sql, tablePrefix).text,
  }));
  return printMigrations(migrations, (migration) => `${recordMigration(t, migration).text};`);
}

/** Names of locks are the server's, at most 64 characters: the hash tells apart databases and prefixes. */
const lockNameDigits = 40;

export interface SchemaOptions {
  readonly database: string;
  readonly tablePrefix: string;
  readonly lockTimeoutMs: number;
}

export class Schema implements MigrationTarget {
  readonly #session: Session;
  readonly #t: Tables;
  readonly #options: SchemaOptions;

  constructor(session: Session, t: Tables, options: SchemaOptions) {
    this.#session = session;
    this.#t = t;
    this.#options = options;
  }

  async read(): Promise<SchemaState | null> {
    try {
      const text = sql`select version, oldest_code from ${this.#t.schema} order by version desc limit 1`;
      const [result] = await this.#session.send('reading the schema version', text);
      const [version, oldestCode] = (result?.rows[0] ?? []) as number[];
      return version === undefined || oldestCode === undefined ? null : { version, oldestCode };
    } catch (error) {
      if (isMillraceError(error) && error.code === 'schema-missing') return null;
      throw error;
    }
  }

  /** Held by the connection: it is gone with it. */
  async lock(): Promise<AsyncDisposable> {
    const { database, tablePrefix, lockTimeoutMs } = this.#options;
    // As text: MySQL refuses a name of bytes.
    const name = sql`convert(${hexText(`millrace-${sha256Hex(`${database}/${tablePrefix}`).slice(0, lockNameDigits)}`)} using utf8mb4)`;
    const waitS = Math.max(Math.floor(lockTimeoutMs / 1000) - 1, 1);
    const [result] = await this.#session.send(
      'waiting for another migration',
      sql`select get_lock(${name}, ${waitS})`,
    );
    if (result?.rows[0]?.[0] !== 1) {
      throw new MillraceError(
        'database-locked',
        `another migration has been at work for ${waitS} s. Try again when it has ended`,
      );
    }
    return {
      [Symbol.asyncDispose]: async () => {
        await this.#session.send('ending a migration', sql`do release_lock(${name})`);
      },
    };
  }

  /** DDL commits by itself: every statement can be repeated, and the version is written last. */
  async apply(migration: Migration): Promise<void> {
    for (const statement of statementsOf(migration, this.#options.tablePrefix)) {
      await this.#session.send(`migration ${migration.number}`, statement);
    }
    await this.#session.send(`migration ${migration.number}`, recordMigration(this.#t, migration));
  }
}

/** Notes that a migration was applied. */
export function recordMigration(t: Tables, { number, oldestCode }: Migration): Sql {
  return sql`insert into ${t.schema} (version, oldest_code, applied_at)
    values (${number}, ${oldestCode}, cast(unix_timestamp(now(3)) * 1000 as signed))
    on duplicate key update oldest_code = values(oldest_code)`;
}

/** The statements of a file: each ends in a semicolon at the end of a line. */
export function statementsOf(migration: Migration, tablePrefix: string): Sql[] {
  return migration.sql
    .split('\n')
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .split(/;\s*(?:\n|$)/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => migrationText(text, tablePrefix));
}
