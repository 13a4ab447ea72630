import Database from 'better-sqlite3';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { mysqlMigrations, recordMigration, statementsOf } from '../../src/storage/mysql/migrate.js';
import { tablesWith } from '../../src/storage/mysql/tables.js';
import { postgresMigrations } from '../../src/storage/postgres/migrate.js';
import * as sqliteSchema from '../../src/storage/sqlite/queries/schema.js';
import { sqliteMigrations } from '../../src/storage/sqlite/schema.js';

const firstOf = <T>([first]: readonly T[]): T => {
  if (first === undefined) throw new Error('expected at least one migration, got none');
  return first;
};

/** The tables as the first migration alone makes them. */
export function firstSqlite(file: string): void {
  const db = new Database(file);
  try {
    const first = firstOf(sqliteMigrations());
    db.exec(`${sqliteSchema.makeVersions};\n${first.sql}\n${sqliteSchema.recordMigration(first)}`);
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

export async function firstPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { sql } = firstOf(postgresMigrations('millrace'));
    await client.query(`create schema millrace;
      create table millrace.migrations (version integer primary key, oldest_code integer not null);
      ${sql};
      insert into millrace.migrations values (1, 1)`);
  } finally {
    await client.end();
  }
}

export async function firstMysql(url: string): Promise<void> {
  const connection = await createConnection({ uri: url });
  try {
    const first = firstOf(mysqlMigrations());
    for (const { text } of statementsOf(first, 'millrace_')) await connection.query(text);
    await connection.query(recordMigration(tablesWith('millrace_'), first).text);
  } finally {
    await connection.end();
  }
}
