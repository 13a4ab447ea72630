import { MillraceError } from '../../internal/errors.js';
import { type AsyncHandle, hasMethods, membersOf } from './handle.js';
import { txInvalid } from './tx-errors.js';

/** What of a client of `pg` is used. */
interface PgClient {
  query(query: object): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
  /** Since pg 8.17: `I` idle, `T` in a transaction, `E` in one that has failed. */
  getTransactionStatus?(): 'I' | 'T' | 'E' | null;
}

const asText = { getTypeParser: () => (text: unknown) => text };

/** A raw `Client` or `PoolClient`; a `Pool` is refused, since its statements may run on any connection. */
export function pgHandle(tx: object): AsyncHandle | null {
  if (hasMethods(tx, 'query', 'connect') && typeof membersOf(tx)['totalCount'] === 'number') {
    throw txInvalid({
      got: 'a pg Pool, which may run each statement on another connection',
      fix: 'Take a client by pool.connect(), run "begin" on it, and pass that client',
    });
  }
  if (!hasMethods(tx, 'query', 'escapeLiteral')) return null;
  const client = tx as PgClient;
  refuseIdle(client);
  return {
    mode: 'async',
    label: 'a pg client',
    dialect: 'postgres',
    identity: tx,
    async run(text, values) {
      const { rows, rowCount } = await client.query({ text, values, rowMode: 'array', types: asText });
      return { rows, changed: rowCount ?? 0 };
    },
  };
}

/** An older driver doesn't say; the engine then asks the server. */
export function saysTransactionStatus(tx: object): boolean {
  return hasMethods(tx, 'getTransactionStatus');
}

function refuseIdle(client: PgClient): void {
  const status = client.getTransactionStatus?.() ?? 'T';
  if (status === 'I') {
    throw txInvalid({
      got: 'a pg client that is in no transaction',
      fix: 'Run "begin" on it first and await that, then pass the same client',
    });
  }
  if (status === 'E') {
    throw new MillraceError(
      'tx-aborted',
      'option "tx": the transaction of this pg client has failed by an earlier statement. Roll back, and run the whole transaction again',
    );
  }
}
