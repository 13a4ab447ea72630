import { type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { expectedGot, MillraceError } from '../../internal/errors.js';
import { ClaimedQueues } from './claimed-queues.js';
import { isBusy, toMillraceError } from './errors.js';
import { Kinds } from './kinds.js';
import { LineBook } from './line-book.js';
import { Stretches } from './stretches.js';

export type Value = string | number | Buffer | null;

interface Statement {
  run(...values: readonly unknown[]): { readonly changes: number };
  get(...values: readonly unknown[]): unknown;
  all(...values: readonly unknown[]): unknown[];
  pluck(): unknown;
  raw(): unknown;
}

/** What of the driver is used. A transaction of the user's gives the same. */
export interface Driver {
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): unknown;
  close(): unknown;
}

/** SQL text → the row it returns, for one open file. Every statement is prepared once. */
export class Connection {
  readonly file: string;
  readonly kinds: Kinds = new Kinds(this);
  readonly lines: LineBook = new LineBook(this);
  readonly stretches: Stretches = new Stretches(this);
  readonly claimedQueues: ClaimedQueues = new ClaimedQueues();
  readonly #db: Driver;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Driver, file: string) {
    this.#db = db;
    this.file = file;
  }

  get isInMemory(): boolean {
    return isMemoryFile(this.file);
  }

  get isInTransaction(): boolean {
    return this.#db.inTransaction;
  }

  /** How many rows it changed. */
  run(sql: string, ...values: readonly Value[]): number {
    return this.#prepared(sql).run(...values).changes;
  }

  /** The same for a long list of values, which as arguments would be copied twice. */
  runList(sql: string, values: readonly Value[]): number {
    return this.#prepared(sql).run(values).changes;
  }

  get<Row>(sql: string, ...values: readonly Value[]): Row | undefined {
    return this.#prepared(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: readonly Value[]): Row[] {
    return this.#prepared(sql).all(...values) as Row[];
  }

  /** The first column of the first row. */
  value<T>(sql: string, ...values: readonly Value[]): T | undefined {
    return this.#prepared(sql, 'pluck').get(...values) as T | undefined;
  }

  /** The first column of every row. */
  values<T>(sql: string, ...values: readonly Value[]): T[] {
    return this.#prepared(sql, 'pluck').all(...values) as T[];
  }

  /** Rows as arrays, which cost less than objects. */
  tuples<Row extends readonly unknown[]>(sql: string, ...values: readonly Value[]): Row[] {
    return this.#prepared(sql, 'raw').all(...values) as Row[];
  }

  /** A script of several statements. */
  execute(sql: string): void {
    this.#db.exec(sql);
  }

  /** Ends the transaction without effect, and drops what was cached from inside it. */
  rollback(): void {
    // A full disk and some I/O errors make SQLite roll back by itself.
    if (this.#db.inTransaction) this.run('rollback');
    this.kinds.forget();
    this.lines.forget();
    this.stretches.forget();
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepared(sql: string, shape: 'object' | 'pluck' | 'raw' = 'object'): Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      if (shape === 'pluck') statement.pluck();
      if (shape === 'raw') statement.raw();
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

export interface ConnectionOptions {
  readonly file: string;
  /** Not made where it is missing. */
  readonly mustExist: boolean;
  readonly synchronous: 'FULL' | 'NORMAL';
}

/** What a claim and a settle touch lies together; the driver's own 16 MB drain no faster and stay in the process [measured]. */
const cacheKib = 4_000;
/** 16 MB: fewer, longer checkpoints than SQLite's 4 MB drain about 5 % faster [measured]. */
const checkpointPages = 4_000;

export const isMemoryFile = (file: string): boolean => file === ':memory:' || file === '';

/**
 * Opens the file and makes it a WAL database. What another connection holds is answered by `undefined`: try again later.
 *
 * @throws MillraceError `driver-missing`, `database-not-found`, `database-gone`, `database-unreachable`, `database-corrupt`, `database-read-only`
 */
export async function openConnection(options: ConnectionOptions): Promise<Connection | undefined> {
  const Database = await loadDriver();
  const file = isMemoryFile(options.file) ? ':memory:' : resolve(options.file);
  requireFolder(file);
  if (options.mustExist && !isMemoryFile(file) && statOf(file) === undefined) throw goneFile(file);
  let db: BetterSqlite3.Database | undefined;
  try {
    // Waiting inside the driver would stop the event loop: who finds the file locked tries again later instead.
    db = new Database(file, { timeout: 0, fileMustExist: options.mustExist });
    const mode = db.pragma('journal_mode = WAL', { simple: true });
    if (mode !== 'wal' && !isMemoryFile(file)) throw noWal(file, mode);
    db.pragma(`synchronous = ${options.synchronous}`);
    db.pragma(`cache_size = -${cacheKib}`);
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    return new Connection(db, file);
  } catch (error) {
    db?.close();
    if (isBusy(error)) return undefined;
    throw toMillraceError(error, file);
  }
}

async function loadDriver(): Promise<typeof BetterSqlite3> {
  try {
    return (await import('better-sqlite3')).default;
  } catch (cause) {
    throw new MillraceError(
      'driver-missing',
      'the package better-sqlite3, which reads SQLite files, is not installed or cannot be loaded. Run: npm install better-sqlite3@12',
      { cause },
    );
  }
}

function goneFile(file: string): MillraceError {
  return new MillraceError(
    'database-gone',
    `the SQLite file ${file}, which this process works on, was removed; none is made in its place. Put it back, or stop the process`,
    { details: { file } },
  );
}

function noWal(file: string, mode: unknown): MillraceError {
  return new MillraceError(
    'database-unreachable',
    expectedGot({
      what: `journal mode of the SQLite file ${file}`,
      expected: 'wal, which readers and a writer can share',
      got: mode,
      fix: 'Its file system cannot share memory between processes: keep the file on a local disk.',
    }),
    { retryable: false, details: { file } },
  );
}

function statOf(path: string): Stats | undefined | null {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // Not allowed to look: SQLite says what it may not do.
    return null;
  }
}

/** No folder is made: a path that was mistyped would become a second, empty queue somewhere. */
function requireFolder(file: string): void {
  const folder = dirname(file);
  if (isMemoryFile(file)) return;
  const found = statOf(folder);
  if (found === null || found?.isDirectory() === true) return;
  if (found !== undefined) {
    throw new MillraceError(
      'database-unreachable',
      expectedGot({ what: `SQLite file ${file}`, expected: 'a path in a folder', got: `${folder}, a file` }),
      { retryable: false, details: { file, folder } },
    );
  }
  throw new MillraceError(
    'database-not-found',
    `there is no folder ${folder} for the SQLite file ${file}. Run: mkdir -p ${folder}`,
    { details: { file, folder } },
  );
}
