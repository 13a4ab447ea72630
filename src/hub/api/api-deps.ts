import type { Millrace } from '../../client/millrace.js';
import type { Logger } from '../../internal/logger.js';
import type { HubMetrics } from '../hub-metrics.js';
import type { StreamTimes } from './events/event-stream.js';

/** What the HTTP API stands on. */
export interface ApiDeps {
  /** Its definitions, where it has any, say which names and inputs are taken. */
  readonly client: Millrace;
  readonly logger: Logger;
  /** Bounds of the streams of events. @default 500 streams, a beat each 15 s, 30 s for a slow reader */
  readonly events?: { readonly mostStreams?: number; readonly times?: StreamTimes } | undefined;
  /** What the hub counts of its link to workers, for `/metrics`. */
  readonly metrics?: HubMetrics;
  /** Shown in the details of `/healthz`. */
  readonly health?: () => Readonly<Record<string, unknown>>;
}
