import type { TransactionQueue } from '../transaction/queue.js';
import { asyncHandle } from '../transaction/recognise.js';
import { txInvalid } from '../transaction/tx-errors.js';
import type { Context } from './context.js';

export function within(tx: unknown, _context: Context): TransactionQueue {
  asyncHandle(tx, 'mysql');
  throw txInvalid({ got: 'one of MySQL', fix: 'Not built yet' });
}
