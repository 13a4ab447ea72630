import Database from 'better-sqlite3';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { mysqlMigrations, recordMigration, statementsOf } from '../../src/storage/mysql/migrate.js';
import { tablesWith } from '../../src/storage/mysql/tables.js';
import { postgresMigrations } from '../../src/storage/postgres/migrate.js';
import * as sqliteSchema from '../../src/storage/sqlite/queries/schema.js';
import { sqliteMigrations } from '../../src/storage/sqlite/schema.js';

export type SchemaVersion = 1 | 'the one before';

function upTo<T>(migrations: readonly T[], version: SchemaVersion): readonly T[] {
  return migrations.slice(0, version === 1 ? 1 : -1);
}

/** The tables as the first migrations alone make them. */
export function sqliteAt(file: string, version: SchemaVersion): void {
  const db = new Database(file);
  try {
    db.exec(sqliteSchema.makeVersions);
    for (const migration of upTo(sqliteMigrations(), version))
      db.exec(`${migration.sql}\n${sqliteSchema.recordMigration(migration)}`);
  } finally {
    db.close();
  }
}

/** Everything of another file, into the columns that are there. */
export function copyInto(file: string, from: string): void {
  const db = new Database(file);
  try {
    db.exec(`attach '${from}' as other`);
    const tables = db
      .prepare(
        `select name from main.sqlite_schema where type = 'table' and name <> 'millrace_schema' and name not like 'sqlite_%'`,
      )
      .pluck()
      .all() as string[];
    const columnsOf = db.prepare(`select name from pragma_table_info(?, 'main')`).pluck();
    for (const table of tables) {
      const columns = columnsOf.all(table).join(', ');
      db.exec(`insert into main.${table} (${columns}) select ${columns} from other.${table}`);
    }
  } finally {
    db.close();
  }
}

export async function postgresAt(url: string, version: SchemaVersion): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`create schema millrace;
      create table millrace.migrations (version integer primary key, oldest_code integer not null)`);
    for (const { sql, number, oldestCode } of upTo(postgresMigrations('millrace'), version))
      await client.query(`${sql}; insert into millrace.migrations values (${number}, ${oldestCode})`);
  } finally {
    await client.end();
  }
}

export async function mysqlAt(url: string, version: SchemaVersion): Promise<void> {
  const connection = await createConnection({ uri: url });
  try {
    for (const migration of upTo(mysqlMigrations(), version)) {
      for (const { text } of statementsOf(migration, 'millrace_')) await connection.query(text);
      await connection.query(recordMigration(tablesWith('millrace_'), migration).text);
    }
  } finally {
    await connection.end();
  }
}
