import { MillraceError } from '../../internal/errors.js';

/** There is no transaction that memory could be part of. */
export function refuseTransaction(): never {
  throw new MillraceError(
    'tx-invalid',
    'option "tx": expected a transaction on the database that holds the jobs, got a queue in memory, which has none. ' +
      'Leave "tx" out, or test this against the database itself (an SQLite file needs no server)',
  );
}
