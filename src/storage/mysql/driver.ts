import type { Socket } from 'node:net';
import type * as Mysql from 'mysql2';
import { withDeadline } from '../../internal/deadline.js';
import { MillraceError } from '../../internal/errors.js';
import { mapDriverError } from './errors.js';
import type { Address } from './options.js';

/** How long making a connection may take, login and settings included. */
export const connectTimeoutMs = 10_000;
/** How long a polite goodbye may take before the socket is dropped. */
const endTimeoutMs = 2_000;

type Driver = typeof Mysql;
export type Value = string | number | Buffer | null;

/** What one statement answered. */
export interface Result {
  /** Rows as arrays, in the order of the selected columns. */
  readonly rows: readonly (readonly unknown[])[];
  /** How many rows it wrote (of an UPDATE: matched). */
  readonly changed: number;
}

/** @throws MillraceError `driver-missing` */
export async function loadDriver(): Promise<Driver> {
  try {
    const module = (await import('mysql2')) as unknown as { default?: Driver } & Driver;
    return module.default ?? module;
  } catch (cause) {
    throw new MillraceError(
      'driver-missing',
      'MySQL and MariaDB: the package mysql2 is not installed or cannot be loaded. Run: npm install mysql2',
      { cause },
    );
  }
}

/** One connection of the driver, in promises and without anything that puts values into text. */
export class DriverConnection {
  readonly #connection: Mysql.Connection;
  #broken = false;

  constructor(connection: Mysql.Connection) {
    this.#connection = connection;
    // A connection that breaks while nobody waits for it is found by its next statement.
    connection.on('error', () => {
      this.#broken = true;
    });
    connection.on('end', () => {
      this.#broken = true;
    });
  }

  /** Whether the connection keeps the process alive; a new one does. */
  holdProcess(holds: boolean): void {
    const { stream } = this.#connection as unknown as { stream: Socket };
    if (holds) stream.ref();
    else stream.unref();
  }

  get isBroken(): boolean {
    return this.#broken;
  }

  /** Sends a text of `count` statements; their results in order. */
  query(text: string, count: number): Promise<Result[]> {
    return new Promise((resolve, reject) => {
      this.#connection.query({ sql: text, rowsAsArray: true }, (error, answer: unknown) => {
        if (error !== null) reject(error);
        else resolve(count === 1 ? [resultOf(answer)] : (answer as unknown[]).map(resultOf));
      });
    });
  }

  /** One prepared statement; its values travel apart from the text. */
  execute(text: string, values: readonly Value[]): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#connection.execute({ sql: text, rowsAsArray: true }, [...values], (error, answer: unknown) => {
        if (error !== null) reject(error);
        else resolve(resultOf(answer));
      });
    });
  }

  /** Ends politely, within a bounded time. */
  async end(): Promise<void> {
    this.holdProcess(true);
    const ended = new Promise<void>((resolve) => {
      this.#connection.end(() => resolve());
    });
    try {
      if (!this.#broken) await withDeadline(ended, { ms: endTimeoutMs, name: 'goodbye to the database' });
    } catch {
      // It did not answer in time: dropped below like one that did.
    } finally {
      this.drop();
    }
  }

  /** Ends at once; what is in flight fails. */
  drop(): void {
    this.#broken = true;
    this.#connection.destroy();
  }
}

/** @throws MillraceError `driver-missing`, `database-unreachable`, `database-access-denied`, `database-not-found` */
export async function connect(
  address: Address,
  several: boolean,
  timeoutMs: number,
): Promise<DriverConnection> {
  const driver = await loadDriver();
  const { host, port, user, password, database, socketPath, ssl } = address;
  const connection = driver.createConnection({
    ...(socketPath === undefined ? { host, port } : { socketPath }),
    user,
    password,
    database,
    charset: 'utf8mb4_bin',
    connectTimeout: timeoutMs,
    enableKeepAlive: true,
    multipleStatements: several,
    supportBigNumbers: true,
    ...(ssl === 'none' ? {} : { ssl: { rejectUnauthorized: ssl === 'checked' } }),
  });
  const wrapped = new DriverConnection(connection);
  const connected = new Promise<void>((resolve, reject) => {
    connection.connect((error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  try {
    await withDeadline(connected, { ms: timeoutMs, name: 'connection to the database' });
    return wrapped;
  } catch (error) {
    wrapped.drop();
    throw unreachable(mapDriverError(error, `connecting to ${socketPath ?? `${host}:${port}`}`));
  }
}

/** A connection that was never made is not one that was lost. */
export function unreachable(error: MillraceError): MillraceError {
  const isOurs =
    error.code === 'connection-lost' || error.code === 'deadline-exceeded' || error.code === 'query-failed';
  return isOurs
    ? new MillraceError('database-unreachable', error.message, { cause: error.cause ?? error })
    : error;
}

function resultOf(answer: unknown): Result {
  if (Array.isArray(answer)) return { rows: answer as unknown[][], changed: 0 };
  return { rows: [], changed: (answer as { affectedRows?: number }).affectedRows ?? 0 };
}
