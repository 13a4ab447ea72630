import type { ErrorCode } from '../../internal/error-codes.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';

interface SqliteError extends Error {
  readonly code: string;
}

/** An error of the driver that carries SQLite's own code. */
export const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error &&
  typeof (error as { code?: unknown }).code === 'string' &&
  (error as SqliteError).code.startsWith('SQLITE_');

/** Another connection has the lock: worth another try by itself. */
export const isBusy = (error: unknown): boolean =>
  isSqliteError(error) && (error.code.startsWith('SQLITE_BUSY') || error.code.startsWith('SQLITE_LOCKED'));

/** By the beginning of SQLite's extended code; the first that fits counts. */
const known: readonly (readonly [prefix: string, code: ErrorCode, say: string])[] = [
  [
    'SQLITE_BUSY',
    'database-locked',
    'is held by another connection. End the long transaction (millrace doctor shows it); then try again',
  ],
  [
    'SQLITE_LOCKED',
    'database-locked',
    'is held by another connection. End the long transaction (millrace doctor shows it); then try again',
  ],
  [
    'SQLITE_FULL',
    'database-full',
    'has no room to grow: the disk or the quota is full. Free space; nothing that was stored is lost',
  ],
  [
    'SQLITE_READONLY',
    'database-read-only',
    'takes no writes. Make the file, its -wal and -shm beside it, and their folder writable for this user',
  ],
  ['SQLITE_NOTADB', 'database-corrupt', 'is not an SQLite database. Check the path'],
  ['SQLITE_CORRUPT', 'database-corrupt', 'is damaged. Restore it from a backup'],
  [
    'SQLITE_PERM',
    'database-access-denied',
    'may not be opened by this user. Change its owner or permissions',
  ],
  [
    'SQLITE_AUTH',
    'database-access-denied',
    'may not be opened by this user. Change its owner or permissions',
  ],
  [
    'SQLITE_CANTOPEN',
    'database-unreachable',
    'cannot be opened. Check the path, its folder and the permissions of both',
  ],
  [
    'SQLITE_IOERR',
    'database-unreachable',
    'cannot be read or written. Check the disk or network file system it lies on',
  ],
  ['SQLITE_PROTOCOL', 'database-unreachable', 'cannot be locked. Check that its file system supports locks'],
];

/** The `MillraceError` for what the driver threw; what is one already passes as it is. */
export function toMillraceError(error: unknown, file: string): MillraceError {
  if (isMillraceError(error)) return error;
  const sqlite = isSqliteError(error) ? error : undefined;
  const match = known.find(([prefix]) => sqlite?.code.startsWith(prefix) === true);
  const details = { file, sqliteCode: sqlite?.code };
  if (match !== undefined) {
    const [, code, say] = match;
    return new MillraceError(code, `the SQLite file ${file} ${say} (${sqlite?.code})`, {
      cause: error,
      details,
    });
  }
  const why = error instanceof Error ? error.message : String(error);
  return new MillraceError('query-failed', `a statement on the SQLite file ${file} failed: ${why}`, {
    cause: error,
    details,
  });
}
