import type { Millrace } from '../../client/millrace.js';
import type { Logger } from '../../internal/logger.js';

/** What the HTTP API stands on. */
export interface ApiDeps {
  /** Its definitions, where it has any, say which names and inputs are taken. */
  readonly client: Millrace;
  readonly logger: Logger;
  /** Shown in the details of `/healthz`. */
  readonly health?: () => Readonly<Record<string, unknown>>;
}
