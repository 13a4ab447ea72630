import type { ErrorCode } from '../../internal/error-codes.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';
import { maskUrl } from '../../internal/logger.js';

/** SQLSTATE → code of ours; a class of two characters stands for all of it that is not named. */
const codeOfState: Readonly<Record<string, ErrorCode>> = {
  '08': 'connection-lost',
  '28': 'database-access-denied',
  '42501': 'database-access-denied',
  '3D000': 'database-not-found',
  '3F000': 'schema-missing',
  '42P01': 'schema-missing',
  '25006': 'database-read-only',
  '53100': 'database-full',
  '53200': 'database-unreachable',
  '53300': 'database-unreachable',
  '57014': 'deadline-exceeded',
  '57P01': 'connection-lost',
  '57P02': 'connection-lost',
  '57P03': 'database-unreachable',
  '57P05': 'connection-lost',
  '25P03': 'connection-lost',
  '40001': 'transaction-conflict',
  '40P01': 'transaction-conflict',
  '55P03': 'transaction-conflict',
  '58030': 'database-full',
};

const unreachable = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EACCES',
]);
const lost = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'ERR_STREAM_DESTROYED']);
/** What the driver says without a code when the socket ends under it. */
const lostText = /connection terminated|client was closed|not queryable|connection error|socket/i;

interface DriverError {
  readonly code?: string;
  readonly message: string;
  readonly constraint?: string;
  readonly errors?: readonly { readonly code?: string }[];
}

/** The one place where an error of the driver becomes one of ours. `doing` names the call, as in `claim`. */
export function fromDriver(error: unknown, doing: string): MillraceError {
  if (isMillraceError(error)) return error;
  const driver = asDriverError(error);
  const code = codeOf(driver);
  const text = maskUrl(driver.message || 'no message');
  return new MillraceError(code, `PostgreSQL, ${doing}: ${text}${advice(code)}`, {
    cause: error,
    details: { doing, ...(driver.code === undefined ? {} : { sqlState: driver.code }) },
    // A server that takes no writes is one that was demoted, or is being promoted: that passes. A user who may not write
    // is refused with another code.
    ...(code === 'database-read-only' ? { retryable: true } : {}),
  });
}

/** Whether the server gave up one of several transactions; the same transaction may be tried again. */
export function isConflict(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'transaction-conflict';
}

/** Whether the connection can't be used after this error. */
export function endsConnection(error: MillraceError): boolean {
  return (
    error.code === 'connection-lost' ||
    error.code === 'database-unreachable' ||
    error.code === 'deadline-exceeded' ||
    // After a failover the old primary is read-only; the next connection may find the new one.
    error.code === 'database-read-only'
  );
}

/** A pooler between us and the server does not keep sessions: no named statements, no startup parameters. */
export function speaksOfPooler(error: unknown): boolean {
  const { code, message } = asDriverError(error);
  if (code === '26000' || code === '42P05') return true;
  return code === '08P01' && /startup parameter/i.test(message);
}

/** After a migration a prepared statement may have another result; a new connection prepares it anew. */
export function speaksOfStalePlan(error: unknown): boolean {
  const { code, message } = asDriverError(error);
  return code === '0A000' && /cached plan/i.test(message);
}

function codeOf(error: DriverError): ErrorCode {
  const code = error.code ?? error.errors?.[0]?.code;
  if (code === undefined) {
    if (/timeout expired/i.test(error.message)) return 'database-unreachable';
    return lostText.test(error.message) ? 'connection-lost' : 'query-failed';
  }
  if (unreachable.has(code)) return 'database-unreachable';
  if (lost.has(code)) return 'connection-lost';
  return codeOfState[code] ?? codeOfState[code.slice(0, 2)] ?? 'query-failed';
}

function asDriverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null && 'message' in error
    ? (error as DriverError)
    : { message: String(error) };
}

function advice(code: ErrorCode): string {
  switch (code) {
    case 'schema-missing':
      return '. Run: millrace migrate';
    case 'database-unreachable':
      return '. Check that the server runs and that host, port and network are right';
    case 'database-not-found':
      return '. Create the database, or correct its name in the address';
    case 'database-access-denied':
      return '. Correct the user and password in the address, or grant the permission';
    default:
      return '';
  }
}
