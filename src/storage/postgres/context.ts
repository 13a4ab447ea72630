import type { Logger } from '../../internal/logger.js';
import type { Connection } from './connection.js';
import type { Schema } from './statement.js';

/** What of a connection the areas use. A transaction of the user's gives the same (`within.ts`). */
export type Session = Pick<Connection, 'run' | 'transaction' | 'isPooled' | 'onOpen' | 'close'>;

/** In place of a queue's name where it may be any: room under a limit is for whoever waits, wherever that is. */
export const anyQueue = '';

/** What every area of this storage works with. */
export interface Context {
  readonly connection: Session;
  readonly schema: Schema;
  /** The number of the newest migration that was applied when the storage was opened. */
  readonly applied: { version: number };
  readonly logger: Logger;
  /** Ms to add to the server's clock. */
  readonly offsetMs: () => number;
  /** Tells watchers, here and elsewhere, that jobs of these queues may have become claimable; `anyQueue` stands for all. */
  readonly wake: (queues: Iterable<string>) => void;
}
