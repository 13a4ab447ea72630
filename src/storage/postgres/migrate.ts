import { withDeadline } from '../../internal/deadline.js';
import { MillraceError } from '../../internal/errors.js';
import { loadMigrations } from '../migrate/load-migrations.js';
import type { Migration, SchemaState } from '../migrate/migration.js';
import { printMigrations } from '../migrate/print-migrations.js';
import { type MigrationReport, type MigrationTarget, runMigrations } from '../migrate/run-migrations.js';
import { type Client, connect } from './driver.js';
import { fromDriver } from './errors.js';
import { migrationTexts } from './migrations/texts.js';
import { defaultSchema, type ResolvedPostgresOptions } from './options.js';
import type { Executor, Statement } from './statement.js';

/** How long a migrator waits for another one, and one step may take: an index over all history needs its time. */
const stepTimeoutMs = 15 * 60_000;

/** The migrations with the schema's name in their text. */
export function postgresMigrations(schema: string): Migration[] {
  return loadMigrations(migrationTexts()).map((migration) => ({
    ...migration,
    sql: migration.sql.replaceAll('{{schema}}', quoted(schema)),
  }));
}

/** `schema` was validated; quoted, a name in capitals stays what it is. */
export const quoted = (schema: string): string => `"${schema}"`;

/** All migrations as one script, for people who apply SQL by hand. */
export function postgresMigrationScript(schema = defaultSchema): string {
  const table = `${quoted(schema)}.migrations`;
  const record = ({ number, oldestCode }: Migration): string =>
    `insert into ${table} (version, oldest_code) values (${number}, ${oldestCode});`;
  const script = printMigrations(postgresMigrations(schema), record);
  return `begin;\ncreate schema if not exists ${quoted(schema)};\n${migrationsTable(table)};\n\n${script}\ncommit;\n`;
}

const migrationsTable = (table: string): string =>
  `create table if not exists ${table} (version integer primary key, oldest_code integer not null)`;

/** Looks, without creating anything. */
export async function readSchema(executor: Executor, schema: string): Promise<SchemaState | null> {
  const table = `${quoted(schema)}.migrations`;
  const exists: Statement = { name: 'millrace_schema_exists', text: 'select to_regclass($1) is not null' };
  const [found] = await executor.run(exists, [table]);
  if (found?.[0] !== 't') return null;
  const newest: Statement = {
    name: 'millrace_schema_version',
    text: `select version, oldest_code from ${table} order by version desc limit 1`,
  };
  const [row] = await executor.run(newest);
  return row === undefined ? null : { version: Number(row[0]), oldestCode: Number(row[1]) };
}

/** Brings the schema up to date on a connection of its own. */
export async function migrate(options: ResolvedPostgresOptions): Promise<MigrationReport> {
  const migrations = postgresMigrations(options.schema);
  return runMigrations(new Target(options), migrations);
}

/**
 * One transaction for all, with a lock that belongs to it: it holds through a pooler as well, and ends with the
 * connection. Each migration is a savepoint, so that those before a failed one stay.
 */
class Target implements MigrationTarget {
  readonly #options: ResolvedPostgresOptions;
  #client: Client | null = null;

  constructor(options: ResolvedPostgresOptions) {
    this.#options = options;
  }

  async lock(): Promise<AsyncDisposable> {
    try {
      this.#client = await connect({ url: this.#options.url, ownSession: false, statementTimeoutMs: 0 });
    } catch (error) {
      throw fromDriver(error, 'connecting');
    }
    try {
      await this.#run('begin isolation level read committed');
      await this.#run("select pg_advisory_xact_lock(hashtext('millrace migrate'), hashtext($1))", [
        this.#options.schema,
      ]);
      await this.#prepare();
    } catch (error) {
      this.#client.drop();
      throw error;
    }
    return { [Symbol.asyncDispose]: () => this.#unlock() };
  }

  async read(): Promise<SchemaState | null> {
    return readSchema(
      { run: async ({ text }, values = []) => (await this.#run(text, values)) as never },
      this.#options.schema,
    );
  }

  async apply({ number, oldestCode, sql }: Migration): Promise<void> {
    const table = `${quoted(this.#options.schema)}.migrations`;
    await this.#run('savepoint migration');
    try {
      await this.#run(sql);
      await this.#run(`insert into ${table} (version, oldest_code) values ($1, $2)`, [number, oldestCode]);
      await this.#run('release savepoint migration');
    } catch (error) {
      await this.#run('rollback to savepoint migration').catch(() => this.#client?.drop());
      throw error;
    }
  }

  /** \`create schema if not exists\` needs the right to create one even where it exists. */
  async #prepare(): Promise<void> {
    const { schema } = this.#options;
    const [found] = await this.#run('select 1 from pg_namespace where nspname = $1', [schema]);
    if (found === undefined) await this.#run(`create schema ${quoted(schema)}`);
    await this.#run(migrationsTable(`${quoted(schema)}.migrations`));
  }

  async #unlock(): Promise<void> {
    const client = this.#client;
    if (client === null) return;
    try {
      await this.#run('commit');
    } finally {
      await client.end();
    }
  }

  async #run(text: string, values: readonly unknown[] = []): Promise<unknown[][]> {
    const client = this.#client;
    if (client === null)
      throw new MillraceError('internal', 'PostgreSQL, migrate: expected a lock to be held');
    try {
      const query = values.length === 0 ? { text } : { text, values: [...values] };
      const result = await withDeadline(client.pg.query({ ...query, rowMode: 'array', types: rawTypes }), {
        ms: stepTimeoutMs,
        name: 'migrate, one step',
      });
      return Array.isArray(result) ? [] : (result.rows as unknown[][]);
    } catch (error) {
      throw fromDriver(error, 'migrate');
    }
  }
}

const rawTypes = { getTypeParser: () => (text: unknown) => text };
