/**
 * The second half of a storage link: registration, heartbeat, renewals, and the control read each second. It runs beside
 * the main loop, in a thread with its own connection where storage can be opened twice, so that a handler which blocks the
 * loop delays none of it; else (storage in memory, or handed over as an object) on the main loop.
 *
 * Only plain data crosses. Downward: what the worker does (`report`). Upward: what storage says this incarnation holds,
 * which queues are paused, what the operator wants, and whether the database can be reached. The upper half decides what
 * follows; the lower half never ends a lease by itself.
 */
import type { LogFields } from '../../internal/logger.js';
import type { HeldLease } from '../../storage/claimed-job.js';
import type { AdminState, WorkerReport } from '../../storage/worker-record.js';

/** The changing part of a registration. */
export type WorkerStatus = Pick<
  WorkerReport,
  'state' | 'transitions' | 'drain' | 'running' | 'lanes' | 'jobsDone' | 'usage' | 'details'
>;

/** The fixed part. */
export type WorkerIdentity = Omit<WorkerReport, keyof WorkerStatus | 'link' | 'hubId'>;

/** Of a worker that has nothing to tell yet. */
export const blankStatus: WorkerStatus = {
  state: 'REGISTER',
  transitions: [],
  drain: null,
  running: 0,
  lanes: [],
  jobsDone: 0,
  usage: { cpu: 0, rssBytes: 0, heapBytes: 0, loopLagMs: 0, disk: null },
  details: {},
};

export interface LinkSettings {
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly controlMs: number;
  readonly ttlMs: number;
}

export interface LinkSnapshot {
  /** Monotonic ms just before storage was asked. */
  readonly askedAtMs: number;
  /** The leases were extended, from that moment on. */
  readonly isRenewal: boolean;
  readonly held: readonly HeldLease[];
  readonly paused: readonly string[];
}

/** Upward. */
export interface LinkListener {
  onRegistered(adminState: AdminState): void;
  onSnapshot(snapshot: LinkSnapshot): void;
  /** Database clock minus this machine's, ms. */
  onClockSkew(skewMs: number): void;
  onAdminState(adminState: AdminState): void;
  /** An operator wants this incarnation to drain and end; told again and again. */
  onRecycleAsked(): void;
  onLog(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: LogFields): void;
}

/** Downward. */
export interface Link {
  /** Begins to register, and goes on for ever; resolves once what it runs in is up, not when it is registered. */
  start(): Promise<void>;
  report(status: WorkerStatus): void;
  /** Says goodbye within the time given, also with the database away. */
  stop(deadlineMs: number): Promise<void>;
}
