import { type AsyncHandle, hasMethods, membersOf } from './handle.js';
import { txInvalid } from './tx-errors.js';

interface CallbackConnection {
  query(options: object, done: (error: unknown, answer: unknown) => void): unknown;
}

/** Bit of the status that the server sends with each answer. */
const inTransactionBit = 1;
const autocommitBit = 2;

/** A connection of `mysql2`, with callbacks or promises; a pool is refused. */
export function mysql2Handle(tx: object): AsyncHandle | null {
  if (!hasMethods(tx, 'query', 'execute')) return null;
  if (hasMethods(tx, 'getConnection')) {
    throw txInvalid({
      got: 'a mysql2 pool, which may run each statement on another connection',
      fix: 'Take a connection by pool.getConnection(), run beginTransaction() on it, and pass that connection',
    });
  }
  if (!hasMethods(tx, 'beginTransaction')) return null;
  const connection = coreOf(tx);
  return {
    mode: 'async',
    label: 'a mysql2 connection',
    dialect: 'mysql',
    identity: connection,
    async run(sql) {
      const answer = await query(connection, sql);
      if (Array.isArray(answer)) return { rows: answer, changed: 0 };
      const { affectedRows = 0, serverStatus } = answer as { affectedRows?: number; serverStatus?: number };
      return { rows: [], changed: affectedRows, isInTransaction: inTransaction(serverStatus) };
    },
  };
}

/** Inside a connection with promises there is one with callbacks. */
function coreOf(tx: object): CallbackConnection {
  const inner = membersOf(tx)['connection'];
  const isPromiseForm = typeof inner === 'object' && inner !== null && hasMethods(inner, 'query', 'execute');
  return (isPromiseForm ? inner : tx) as unknown as CallbackConnection;
}

/** As objects, since a connection that gives large integers as texts does so whatever a statement asks for. */
function query(connection: CallbackConnection, sql: string): Promise<unknown> {
  const options = { sql, rowsAsArray: false, nestTables: false, typeCast: true };
  return new Promise((resolve, reject) => {
    connection.query(options, (error, answer) => {
      if (error === null || error === undefined) resolve(answer);
      else reject(error);
    });
  });
}

/** Without autocommit a transaction is open from the next statement on. */
const inTransaction = (status: number | undefined): boolean | undefined =>
  status === undefined ? undefined : (status & inTransactionBit) !== 0 || (status & autocommitBit) === 0;
