import type { ErrorCode } from '../../internal/error-codes.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';

/** What is read of an error of the driver: the server's number, or the code of Node or the driver. */
interface DriverError {
  readonly errno: number | undefined;
  readonly code: string | undefined;
  readonly message: string;
}

/** Of MySQL and MariaDB alike; where only one of them has a number, the other never uses it for anything else we meet. */
const codeOfErrno: Readonly<Record<number, ErrorCode>> = {
  1044: 'database-access-denied',
  1045: 'database-access-denied',
  1142: 'database-access-denied',
  1143: 'database-access-denied',
  1227: 'database-access-denied',
  1370: 'database-access-denied',
  1698: 'database-access-denied',
  1049: 'database-not-found',
  1040: 'database-unreachable', // too many connections
  1129: 'database-unreachable', // host blocked after connect errors
  1203: 'database-unreachable', // the user's own limit of connections
  1226: 'database-unreachable', // a resource limit of the account
  1053: 'connection-lost', // shutdown in progress
  1152: 'connection-lost',
  1158: 'connection-lost',
  1159: 'connection-lost',
  1160: 'connection-lost',
  1161: 'connection-lost',
  1184: 'connection-lost',
  1317: 'connection-lost', // the statement was killed
  1927: 'connection-lost', // MariaDB: the connection was killed
  3169: 'connection-lost', // MySQL: the session was killed
  4031: 'connection-lost', // MySQL: closed for being idle
  1213: 'transaction-conflict', // deadlock
  1020: 'transaction-conflict', // the row changed since it was read
  1205: 'database-locked', // lock wait timeout
  1969: 'deadline-exceeded', // MariaDB: max_statement_time
  3024: 'deadline-exceeded', // MySQL: max_execution_time
  1021: 'database-full',
  1114: 'database-full',
  1290: 'database-read-only', // --read-only
  1792: 'database-read-only', // a read-only transaction
  1836: 'database-read-only',
  3100: 'database-read-only', // refused by a replication plugin (a member that is not the primary)
  1146: 'schema-missing',
};

const lostCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'PROTOCOL_SEQUENCE_TIMEOUT',
]);
const unreachableCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOENT',
  'EACCES',
]);

/** Gone for good when it shows on a connection: nothing may be sent on it any more. */
export function endsConnection(error: MillraceError): boolean {
  return (
    error.code === 'connection-lost' ||
    error.code === 'deadline-exceeded' ||
    error.code === 'database-unreachable'
  );
}

/** The tables were dropped, and may be made anew: nothing that is remembered of them holds. */
export function isWithoutTables({ code }: MillraceError): boolean {
  return code === 'schema-missing' || code === 'database-not-found';
}

/** Another transaction was in the way; the same work can be tried again at once. */
export function isConflict(error: unknown): boolean {
  return isMillraceError(error) && (error.code === 'transaction-conflict' || error.details['errno'] === 1205);
}

/** A row with this primary or unique key stands there already. */
export function isDuplicateRow(error: unknown): boolean {
  return isMillraceError(error) && error.details['errno'] === 1062;
}

/** The guard of a plain settle found another count than it expects (`exp` of more than a double can hold). */
export function isCountMismatch(error: unknown): boolean {
  return isMillraceError(error) && error.details['errno'] === 1690;
}

/** The error of Millrace for whatever the driver threw. `doing` names the step, for the message. */
export function mapDriverError(thrown: unknown, doing: string): MillraceError {
  if (isMillraceError(thrown)) return thrown;
  const error = readDriverError(thrown);
  const code = codeOf(error);
  return new MillraceError(code, `MySQL or MariaDB, ${doing}: ${sentence(code, error)}`, {
    cause: thrown,
    details: { doing, ...(error.errno === undefined ? {} : { errno: error.errno }), driverCode: error.code },
  });
}

function codeOf(error: DriverError): ErrorCode {
  const known = error.errno === undefined ? undefined : codeOfErrno[error.errno];
  if (known !== undefined) return known;
  const code = error.code ?? '';
  if (lostCodes.has(code) || /closed state|connection.*(?:lost|closed)/i.test(error.message))
    return 'connection-lost';
  if (unreachableCodes.has(code)) return 'database-unreachable';
  return 'query-failed';
}

function sentence(code: ErrorCode, error: DriverError): string {
  switch (code) {
    case 'schema-missing':
      return `${error.message}. Run: millrace migrate`;
    case 'database-unreachable':
      return `${error.message}. Check that the server runs and that host, port and network are right`;
    case 'database-access-denied':
      return `${error.message}. Correct the user and password in the address, or grant the permission`;
    case 'database-not-found':
      return `${error.message}. Create the database, or correct its name in the address`;
    case 'database-locked':
      return `${error.message}. Another transaction holds rows of Millrace; end it (millrace doctor shows it)`;
    default:
      return error.message;
  }
}

function readDriverError(thrown: unknown): DriverError {
  const read = (key: string): unknown =>
    typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, key) : undefined;
  const errno = read('errno');
  const code = read('code');
  const message = read('sqlMessage') ?? read('message');
  const text =
    typeof message === 'string' && message !== '' ? message : nested(read('errors')) || String(thrown);
  return {
    // Node's own numbers are negative.
    errno: typeof errno === 'number' && errno > 0 ? errno : undefined,
    code: typeof code === 'string' ? code : undefined,
    message: text,
  };
}

/** An AggregateError of a failed connect has an empty message; its parts say it. */
function nested(errors: unknown): string {
  if (!Array.isArray(errors)) return '';
  return errors.map((each: unknown) => (each instanceof Error ? each.message : String(each))).join('; ');
}
