import type { Logger } from '../../internal/logger.js';
import type { LaneSource } from './lane.js';

/** How browser lanes come into a worker, which knows nothing of Chrome: loaded only where it asks for such lanes. */
export interface BrowserKind {
  /** Looks for a Chrome that starts on this machine. Never rejects. */
  prepare(options: {
    /** Null: looked for. */
    readonly chromePath: string | null;
    /** Setting `browserPrivateTargets`. */
    readonly privateTargets: string;
    /** Addresses of hubs, which no page may reach. */
    readonly hubs: readonly string[];
    readonly logger: Logger;
    readonly signal: AbortSignal;
  }): Promise<BrowserHere>;
}

/** What this machine has for browser lanes. */
export interface BrowserHere {
  /** Memory that one lane is reckoned to need. */
  readonly perLaneBytes: number;
  /** Lanes of it; where no Chrome was found, one that takes nothing and says why. */
  source(size: number): LaneSource;
}
