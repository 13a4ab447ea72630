import type { Logger } from '../../internal/logger.js';
import type { Server } from './connection.js';
import type { Dictionary } from './dictionary.js';
import type { HeldFacts } from './held-facts.js';
import type { Lanes } from './lanes.js';
import type { Lines } from './lines.js';
import type { Notifier } from './notify.js';
import type { Session } from './session.js';
import type { Sql } from './sql.js';
import type { Survey } from './survey.js';
import type { Tables } from './tables.js';

/** What every area of the engine works with. */
export interface Context {
  readonly t: Tables;
  /** The number of the newest migration that was applied when the storage was opened. */
  readonly applied: { version: number };
  /** Every write about jobs: packets of several statements. */
  readonly main: Pick<Session, 'send' | 'sendTransaction' | 'transaction' | 'close'>;
  /** Everything that must not wait behind those: leases, workers, looking. Single statements. */
  readonly side: Session;
  readonly queues: Dictionary;
  readonly names: Dictionary;
  readonly lanes: Lanes;
  readonly lines: Lines;
  readonly survey: Survey;
  readonly held: HeldFacts;
  readonly notifier: Notifier;
  readonly logger: Logger;
  /** The server's clock plus the injected offset, as an expression in integer ms. */
  now(): Sql;
  /** Known once a connection was made. */
  server(): Server;
}
