import type { FilePort } from '../../storage/files/file-port.js';
import type { AdminState } from '../../storage/worker-record.js';
import type { WorkerStorage } from '../../storage/worker-storage.js';
import type { Neighbours } from '../admission/neighbours.js';
import type { ContextPorts } from '../attempt-context.js';
import type { HubLinkListener } from '../link/hub/hub-link.js';
import type { Link, WorkerIdentity, WorkerStatus } from '../link/link.js';
import type { PoolBacklog } from '../pool/pool-messages.js';
import type { RecycleTurns } from '../recycle-turns.js';

/** Who wants to join. */
export interface Applicant {
  readonly identity: WorkerIdentity;
  readonly status: WorkerStatus;
  /** An earlier incarnation of its id that has ended for sure. */
  readonly ended: string | null;
  readonly signal: AbortSignal;
}

/** A worker that is known where its jobs come from. */
export interface Membership {
  readonly id: string;
  readonly adminState: AdminState;
  readonly storage: WorkerStorage;
  readonly dispatch: ContextPorts['dispatch'];
  readonly files: FilePort;
  readonly neighbours: Neighbours;
  readonly turns: RecycleTurns;
  /** How long a lease lasts at least, ms. */
  readonly leaseMs: () => number;
  /** What waits in the queues that it serves; null: it has to be read from the database. */
  readonly backlog: (() => Promise<PoolBacklog>) | null;
  /** Made once, for the life that begins. */
  readonly createLink: (listener: HubLinkListener) => Link;
}

/** How a worker comes to its jobs: by a database of its own, or by a hub. */
export interface Join {
  /** Waits for what it needs, as long as that may help. `isShared`: the same id may be another process's. */
  open(signal: AbortSignal): Promise<{ readonly isShared: boolean }>;
  /** Tries for ever; rejects with the reason of the signal. */
  register(applicant: Applicant): Promise<Membership>;
}
