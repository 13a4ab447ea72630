import { describeValue } from '../../internal/describe-value.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';

const whatIsTaken =
  'an open transaction: a pg client, a mysql2 connection, a better-sqlite3 database, or the transaction object of Kysely, Drizzle or Prisma';

/** The handle is none, or not the right one; nothing was written. */
export function txInvalid(about: {
  readonly expected?: string;
  readonly got: string;
  readonly fix: string;
  readonly cause?: unknown;
}): MillraceError {
  const { expected = whatIsTaken, got, fix, cause } = about;
  return new MillraceError(
    'tx-invalid',
    `option "tx": expected ${expected}, got ${got}. ${fix}`,
    cause === undefined ? {} : { cause },
  );
}

export const txUnknown = (tx: unknown): MillraceError =>
  txInvalid({ got: describeValue(tx), fix: 'Pass what your driver or ORM hands you inside its transaction' });

/** A statement failed in a way that ends the user's transaction. */
export function txAborted(error: unknown, doing: string): MillraceError {
  if (isMillraceError(error) && (error.code === 'tx-aborted' || error.code === 'tx-invalid')) return error;
  const why = error instanceof Error ? error.message : String(error);
  const code = isMillraceError(error) ? error.code : undefined;
  return new MillraceError(
    'tx-aborted',
    `${doing}: your transaction can't go on: ${why}. Nothing is tried again on a connection of yours: roll back, and run the whole transaction again`,
    { cause: error, details: { doing, ...(code === undefined ? {} : { because: code }) } },
  );
}

/** The first error in a chain of causes that a driver has given a code: ORMs wrap those. */
export function driverErrorIn(error: unknown): unknown {
  let at = error;
  for (let depth = 0; depth < 8 && typeof at === 'object' && at !== null; depth += 1) {
    if (isMillraceError(at)) return at;
    const { code, errno, cause, meta } = at as {
      code?: unknown;
      errno?: unknown;
      cause?: unknown;
      meta?: unknown;
    };
    const isPrisma = typeof code === 'string' && /^P\d{4}$/.test(code);
    if (isPrisma) return prismaError(at, meta) ?? error;
    if (typeof code === 'string' || typeof errno === 'number') return at;
    at = cause;
  }
  return error;
}

/** `P2010` carries the database's own code and message. */
function prismaError(error: object, meta: unknown): unknown {
  const { code, message } = databaseErrorIn(meta);
  if (typeof code !== 'string') return undefined;
  const errno = /^\d+$/.test(code) ? Number(code) : undefined;
  const text = typeof message === 'string' ? message : String((error as { message?: unknown }).message);
  return Object.assign(new Error(text, { cause: error }), {
    code,
    ...(errno === undefined ? {} : { errno }),
  });
}

/** With a driver adapter, so always since Prisma 7, they are those of the adapter's error; before, they stood in `meta`. */
function databaseErrorIn(meta: unknown): { readonly code?: unknown; readonly message?: unknown } {
  if (typeof meta !== 'object' || meta === null) return {};
  const { driverAdapterError } = meta as { driverAdapterError?: { cause?: unknown } };
  const cause = driverAdapterError?.cause;
  if (typeof cause !== 'object' || cause === null) return meta;
  const { originalCode, originalMessage } = cause as { originalCode?: unknown; originalMessage?: unknown };
  return { code: originalCode, message: originalMessage };
}
