/*
 * What a user's `tx` is, by its structure. Drizzle comes first: it marks its classes; the others follow from the most
 * telling members to the least. Nothing is sent here, so a wrong handle costs no round trip and writes nothing.
 */
import { betterSqlite3Handle } from './better-sqlite3.js';
import { drizzleHandle } from './drizzle.js';
import type { AsyncHandle, Dialect, Handle, SyncHandle } from './handle.js';
import { kyselyHandle } from './kysely.js';
import { mysql2Handle } from './mysql2.js';
import { pgHandle } from './pg-client.js';
import { prismaHandle } from './prisma.js';
import { txInvalid, txUnknown } from './tx-errors.js';

const kinds: readonly ((tx: object) => Handle | null)[] = [
  drizzleHandle,
  kyselyHandle,
  prismaHandle,
  betterSqlite3Handle,
  mysql2Handle,
  pgHandle,
];

const databaseNames: Readonly<Record<Dialect, string>> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL or MariaDB',
  sqlite: 'SQLite',
};

/**
 * The handle of a transaction whose statements are awaited.
 *
 * @throws MillraceError `tx-invalid`, `tx-aborted`
 */
export function asyncHandle(tx: unknown, dialect: Dialect): AsyncHandle {
  const handle = recognise(tx, dialect);
  if (handle.mode === 'async') return handle;
  throw txInvalid({
    expected: 'a transaction whose statements are awaited',
    got: `${handle.label}, which may commit before an awaited call is done`,
    fix: 'Use dispatchSync, dispatchManySync, controlSync, editSync or ctx.settleInSync, which are done when they return',
  });
}

/**
 * The handle of a transaction whose statements are done when they return.
 *
 * @throws MillraceError `tx-invalid`
 */
export function syncHandle(tx: unknown, dialect: Dialect): SyncHandle {
  const handle = recognise(tx, dialect);
  if (handle.mode === 'sync') return handle;
  throw txInvalid({
    expected: 'a transaction of better-sqlite3, or of Drizzle on it',
    got: `${handle.label}, whose statements must be awaited`,
    fix: 'Use dispatch, dispatchMany, the control calls or ctx.settleIn with it, and await them',
  });
}

function recognise(tx: unknown, dialect: Dialect): Handle {
  if (typeof tx !== 'object' || tx === null) throw txUnknown(tx);
  for (const kind of kinds) {
    const handle = kind(tx);
    if (handle === null) continue;
    if (handle.dialect === null || handle.dialect === dialect) return handle;
    throw txInvalid({
      expected: `a transaction of ${databaseNames[dialect]}, where the jobs are`,
      got: `${handle.label}`,
      fix: 'A job and your rows can be written in one transaction only where they are in one database',
    });
  }
  throw txUnknown(tx);
}
