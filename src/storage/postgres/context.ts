import type { Logger } from '../../internal/logger.js';
import type { Connection } from './connection.js';
import type { Schema } from './statement.js';

/** What of a connection the areas use. A transaction of the user's gives the same (`within.ts`). */
export type Session = Pick<Connection, 'run' | 'transaction' | 'isPooled' | 'close'>;

/** What every area of this storage works with. */
export interface Context {
  readonly connection: Session;
  readonly schema: Schema;
  readonly logger: Logger;
  /** Ms to add to the server's clock. */
  readonly offsetMs: () => number;
  /** Tells watchers, here and elsewhere, that jobs of these queues may have become claimable. */
  readonly wake: (queues: Iterable<string>) => void;
}
