import type { Statement } from '../statement.js';

/** Sent at the commit. From a function in FROM, since some clients can't read a column of type void. $1 channel, $2 payload */
export const notifyWithin: Statement = {
  name: 'millrace_notify_within',
  text: 'select 1 as sent from pg_notify($1, $2)',
};

/** Gives the transaction its number, which the writes that follow would do anyway. */
export const transactionId: Statement = {
  name: 'millrace_transaction_id',
  text: 'select pg_current_xact_id()::text as xid',
};
