import type { AdminState } from '../../storage/worker-record.js';
import type { WorkerHost } from '../host.js';
import type { Membership } from '../join/join.js';
import type { LaneSource } from '../lanes/lane.js';
import type { LanesWatch } from '../lanes/lanes-watch.js';
import type { WorkerIdentity, WorkerStatus } from '../link/link.js';
import type { RunBounds } from '../run-bounds.js';
import type { SettledCounts } from '../settled-counts.js';
import type { UsageMeter } from '../usage-meter.js';
import type { LoopPulse } from '../watchdog/loop-pulse.js';
import type { ResolvedWorkerOptions } from '../worker-options.js';

/** What a life has of its worker. */
export interface LifeOptions {
  readonly host: WorkerHost;
  readonly options: ResolvedWorkerOptions;
  readonly membership: Membership;
  readonly pulse: LoopPulse;
  readonly identity: WorkerIdentity;
  readonly counts: SettledCounts;
  /** Inline slots. */
  readonly inlineWidth: number;
  /** The other kinds of lanes. */
  readonly laneSources: readonly LaneSource[];
  readonly lanesWatch: LanesWatch;
  /** Most jobs at once over all kinds; null: what the slots of each kind allow. */
  readonly cap: number | null;
  readonly bounds: RunBounds;
  /** Resident memory at which this process makes room for a fresh one; 0: never; null: nobody would, as in a program. */
  readonly recycleAtBytes: number | null;
  /** Claims may be made. */
  readonly isOpen: () => boolean;
  readonly lifecycle: () => Pick<WorkerStatus, 'state' | 'transitions' | 'drain'>;
  readonly usage: UsageMeter;
  readonly onAdminState: (adminState: AdminState) => void;
  readonly onRecycleAsked: () => void;
  /** Every second. */
  readonly onTick: () => void;
  /** Storage did not answer. */
  readonly onDown: (error: unknown, waitMs: number) => void;
  readonly onUp: () => void;
  /** The connection to the hub, where there is one. */
  readonly onLinkLost: (text: string, waitMs: number) => void;
  readonly onLinkRestored: () => void;
  readonly onSuperseded: () => void;
  /** Something ended: a slot is free, a result acknowledged. */
  readonly onChange: () => void;
}
