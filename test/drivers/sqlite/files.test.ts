import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { MillraceError } from '../../../src/internal/errors.js';
import { sqliteMigrationScript, sqliteMigrations } from '../../../src/storage/sqlite/schema.js';
import { Session } from '../../../src/storage/sqlite/session.js';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { type TempDir, tempDir } from '../../support/temp.js';
import { claimRequest, completed, newJob, newJobs } from './jobs.js';

async function refusal(promise: Promise<unknown>): Promise<MillraceError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof MillraceError) return error;
  throw new Error(`expected a MillraceError, got ${String(error)}`);
}

const openingOf = (file: string): Promise<MillraceError> => refusal(new SqliteStorage({ file }).open());

/** Root may write everything; for a moment we are somebody else. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

async function madeFile(folder: TempDir): Promise<string> {
  const file = folder.file('queue.db');
  const storage = new SqliteStorage({ file });
  await storage.open();
  await storage.close();
  chmodSync(folder.path, 0o755);
  return file;
}

describe('[sqlite] a file that cannot be used', () => {
  test('a missing folder is not made, but named with what makes it', async () => {
    await using folder = tempDir('files');
    const error = await openingOf(folder.file('a', 'b', 'queue.db'));
    expect(error).toMatchObject({ code: 'database-not-found', retryable: false });
    expect(error.message).toContain(`Run: mkdir -p ${folder.file('a', 'b')}`);
    expect(existsSync(folder.file('a'))).toBe(false);
  });

  test('a file in place of the folder is named', async () => {
    await using folder = tempDir('files');
    writeFileSync(folder.file('taken'), '');
    const error = await openingOf(folder.file('taken', 'queue.db'));
    expect(error).toMatchObject({ code: 'database-unreachable', retryable: false });
    expect(error.message).toContain(folder.file('taken'));
  });

  test('a folder in place of the file', async () => {
    await using folder = tempDir('files');
    mkdirSync(folder.file('queue.db'));
    const error = await openingOf(folder.file('queue.db'));
    expect(error.code).toBe('database-unreachable');
    expect(error.message).toContain(folder.file('queue.db'));
  });

  test('a file that is no database', async () => {
    await using folder = tempDir('files');
    writeFileSync(folder.file('queue.db'), 'This is a text, and a long one: '.repeat(100));
    const error = await openingOf(folder.file('queue.db'));
    expect(error.code).toBe('database-corrupt');
    expect(error.message).toMatch(/is not an SQLite database. Check the path/);
  });

  test('a damaged database', async () => {
    await using folder = tempDir('files');
    const file = await madeFile(folder);
    const db = new Database(file);
    db.pragma('journal_mode = DELETE');
    db.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 100, 4_096);
    writeFileSync(file, bytes);
    expect((await openingOf(file)).code).toBe('database-corrupt');
  });

  test('a file and folder without write permission', async () => {
    await using folder = tempDir('files');
    const file = await madeFile(folder);
    chmodSync(file, 0o444);
    chmodSync(folder.path, 0o555);
    const error = await asNobody(() => openingOf(file));
    chmodSync(folder.path, 0o755);
    expect(error.code).toBe('database-read-only');
    expect(error.message).toMatch(/writable/);
  });

  test('a file that becomes read-only while it is open', async () => {
    await using folder = tempDir('files');
    const session = await Session.open({
      file: folder.file('queue.db'),
      mustExist: false,
      synchronous: 'NORMAL',
    });
    session.db.execute('pragma query_only = 1');
    const write = session.write('test', 1, (tx) => tx.db.run("insert into queues (name) values ('q')"));
    expect(await refusal(write)).toMatchObject({ code: 'database-read-only', retryable: false });
    expect(session.db.isInTransaction).toBe(false);
    session.close();
  });
});

describe('[sqlite] the schema', () => {
  test('a file of a newer Millrace that admits this one is used, one that does not is refused', async () => {
    await using folder = tempDir('schema');
    const file = await madeFile(folder);
    const known = sqliteMigrations().length;
    const record = (version: number, oldestCode: number): void => {
      const db = new Database(file);
      db.prepare('insert into millrace_schema values (?, ?, ?, 0)').run(version, 'later', oldestCode);
      db.close();
    };
    record(known + 1, known);
    const storage = new SqliteStorage({ file });
    await storage.open();
    await storage.close();
    record(known + 2, known + 1);
    expect((await openingOf(file)).code).toBe('schema-too-new');
  });

  test('the printed script makes the same tables', async () => {
    await using folder = tempDir('schema');
    const migrated = await madeFile(folder);
    const byHand = folder.file('by-hand.db');
    const tables = (file: string): unknown[] => {
      const db = new Database(file);
      const rows = db.prepare('select name, sql from sqlite_schema order by name').all();
      db.close();
      return rows;
    };
    const db = new Database(byHand);
    db.exec(sqliteMigrationScript());
    db.close();
    expect(tables(byHand)).toEqual(tables(migrated));
    const storage = new SqliteStorage({ file: byHand });
    expect(await storage.migrate()).toMatchObject({ applied: [] });
    await storage.close();
  });
});

describe('[sqlite] opening and closing', () => {
  test('what was written is there for the next one who opens the file', async () => {
    await using folder = tempDir('files');
    const file = folder.file('queue.db');
    const first = new SqliteStorage({ file });
    await first.open();
    await first.enqueue(newJobs(3));
    await first.close();
    await first.open();
    expect(await first.claim(claimRequest())).toHaveLength(3);
    await first.close();
  });

  test('calls before open and after close are refused, also those already under way', async () => {
    await using folder = tempDir('files');
    const storage = new SqliteStorage({ file: folder.file('queue.db') });
    expect((await refusal(storage.now())).code).toBe('closed');
    await storage.open();
    await storage.enqueue(newJobs(1_000));
    const claimed = await storage.claim(claimRequest({ limit: 1_000 }));
    await storage.settle(completed(claimed));
    const purging = storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 1_000_000 });
    await storage.close();
    await purging.catch((error: unknown) => expect(error).toMatchObject({ code: 'closed' }));
    expect((await refusal(storage.enqueue([newJob()]))).code).toBe('closed');
    await storage.close();
  });

  test('open twice at once opens once', async () => {
    await using folder = tempDir('files');
    const storage = new SqliteStorage({ file: folder.file('queue.db') });
    await Promise.all([storage.open(), storage.open()]);
    await storage.enqueue([newJob()]);
    await storage.close();
    expect((await refusal(storage.now())).code).toBe('closed');
  });

  test('a database in memory ends with its storage, and says what it is', async () => {
    const storage = new SqliteStorage({ file: ':memory:' });
    await storage.open();
    expect(storage.capabilities).toMatchObject({ engine: 'sqlite', shared: false, durable: false });
    let wakes = 0;
    await using _watch = await storage.watch(() => {
      wakes += 1;
    });
    await storage.enqueue([newJob()]);
    expect(await storage.claim(claimRequest())).toHaveLength(1);
    expect(wakes).toBe(1);
    await storage.tidy({ settled: 1, idle: true });
    await storage.close();
  });

  test('tidy empties the -wal file when nothing runs', async () => {
    await using folder = tempDir('files');
    const file = folder.file('queue.db');
    const storage = new SqliteStorage({ file });
    await storage.open();
    await storage.enqueue(newJobs(500));
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    await storage.tidy({ settled: 500, idle: true });
    expect(statSync(`${file}-wal`).size).toBe(0);
    await storage.close();
  });
});
