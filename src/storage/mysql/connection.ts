import { withDeadline } from '../../internal/deadline.js';
import { expectedGot, MillraceError } from '../../internal/errors.js';
import { connect, type DriverConnection, unreachable } from './driver.js';
import { mapDriverError } from './errors.js';
import type { Address } from './options.js';
import { int, type Sql, sql } from './sql.js';

/** What the server is, as far as anything depends on it. */
export interface Server {
  readonly isMariaDb: boolean;
  /** As in `MariaDB 10.11.19`. */
  readonly label: string;
  /** The longest packet it takes. */
  readonly maxPacketBytes: number;
}

export interface OpenOptions {
  readonly address: Address;
  /** Takes several statements in one packet; such a connection is never given anything but texts of `sql.ts`. */
  readonly several: boolean;
  readonly statementTimeoutMs: number;
  /** For making the connection and preparing it. */
  readonly timeoutMs: number;
}

export interface OpenConnection {
  readonly driver: DriverConnection;
  readonly server: Server;
}

/** How long a statement of ours waits for a row lock; the work is then tried again until its own deadline. */
const lockWaitS = 5;
const sqlMode =
  'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
const oldest = { mariaDb: [10, 6, 0], mysql: [8, 0, 11] } as const;

/**
 * A connection in the state that every statement relies on: set, and then read back.
 *
 * @throws MillraceError `database-too-old` and those of `connect`
 */
export async function openConnection(options: OpenOptions): Promise<OpenConnection> {
  const endsAt = performance.now() + options.timeoutMs;
  const driver = await connect(options.address, options.several, options.timeoutMs);
  const name = 'preparing the connection';
  try {
    const ms = Math.max(endsAt - performance.now(), 1);
    const server = await withDeadline(prepare(driver, options), { ms, name });
    return { driver, server };
  } catch (error) {
    driver.drop();
    const mapped = mapDriverError(error, name);
    throw mapped.code === 'deadline-exceeded' ? unreachable(mapped) : mapped;
  }
}

async function prepare(
  driver: DriverConnection,
  { several, statementTimeoutMs }: OpenOptions,
): Promise<Server> {
  const server = await identify(driver);
  await prepareSession(driver);
  if (!several) await limitStatements(driver, server, statementTimeoutMs);
  await verifySession(driver, server);
  return server;
}

async function identify(driver: DriverConnection): Promise<Server> {
  const [version, maxPacketBytes] = await firstRow(
    driver,
    sql`select version(), @@session.max_allowed_packet`,
  );
  return serverOf(String(version), Number(maxPacketBytes));
}

/**
 * What a version text says.
 *
 * @throws MillraceError `database-too-old`
 */
export function serverOf(version: string, maxPacketBytes: number): Server {
  const isMariaDb = /mariadb/i.test(version);
  // Old MariaDB servers put 5.5.5- before their version for the sake of replication.
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(version.replace(/^5\.5\.5-/, ''));
  const numbers = (found?.slice(1) ?? []).map(Number);
  if (isOlder(numbers, isMariaDb ? oldest.mariaDb : oldest.mysql)) {
    const expected = 'MySQL 8.0.11 or MariaDB 10.6, or newer';
    throw new MillraceError(
      'database-too-old',
      expectedGot({ what: 'database server', expected, got: version }),
      { details: { version } },
    );
  }
  return { isMariaDb, label: `${isMariaDb ? 'MariaDB' : 'MySQL'} ${numbers.join('.')}`, maxPacketBytes };
}

async function prepareSession(driver: DriverConnection): Promise<void> {
  const settings = sql`set session sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    time_zone = '+00:00', autocommit = 1, innodb_lock_wait_timeout = ${lockWaitS},
    sql_select_limit = default, sql_safe_updates = 0, sql_auto_is_null = 0`;
  await driver.query(settings.text, 1);
  await driver.query(sql`set session transaction isolation level read committed`.text, 1);
}

/**
 * The server gives up by itself a little after we do, so that nothing runs on for ever once we left. Not where packets
 * are sent: MariaDB arms a timer for each statement, which costs a lone enqueue a tenth of its time, and there every
 * statement is bounded by an index and by the wait for a lock.
 */
async function limitStatements(driver: DriverConnection, server: Server, timeoutMs: number): Promise<void> {
  const limitMs = int(Math.ceil(timeoutMs * 1.5));
  const limit = server.isMariaDb
    ? sql`set session max_statement_time = ${limitMs} / 1000`
    : sql`set session max_execution_time = ${limitMs}`;
  await driver.query(limit.text, 1);
}

async function verifySession(driver: DriverConnection, server: Server): Promise<void> {
  const isolation = server.isMariaDb ? sql`@@session.tx_isolation` : sql`@@session.transaction_isolation`;
  const row = await firstRow(
    driver,
    sql`select ${isolation}, @@session.sql_mode, @@session.time_zone, @@session.character_set_client,
      @@session.character_set_connection, @@session.character_set_results`,
  );
  const wanted = ['READ-COMMITTED', sqlMode, '+00:00', 'utf8mb4', 'utf8mb4', 'utf8mb4'];
  const names = [
    'isolation level',
    'sql_mode',
    'time_zone',
    'client charset',
    'connection charset',
    'result charset',
  ];
  for (const [index, expected] of wanted.entries()) {
    if (String(row[index]) === expected || (index === 1 && sameModes(String(row[index]), expected))) continue;
    const message = expectedGot({
      what: `session of the database, ${names[index]}`,
      expected,
      got: row[index],
      fix: 'A proxy between here and the server may be changing it.',
    });
    throw new MillraceError('query-failed', message);
  }
}

/** The server chooses the order in which it lists them. */
function sameModes(a: string, b: string): boolean {
  return a.split(',').sort().join() === b.split(',').sort().join();
}

async function firstRow(driver: DriverConnection, statement: Sql): Promise<readonly unknown[]> {
  const [result] = await driver.query(statement.text, 1);
  return result?.rows[0] ?? [];
}

function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [index, least] of than.entries()) {
    const part = version[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}
