import type { JobStatus } from '../../src/core/job-status.js';
import type { NewAuditEntry } from '../../src/storage/audit.js';
import type { ClaimRequest, Lease, PeekRequest } from '../../src/storage/claimed-job.js';
import type { ProfileNote } from '../../src/storage/handler-profile.js';
import type { NewLogLine } from '../../src/storage/job-log.js';
import type { JobFilter } from '../../src/storage/job-record.js';
import type { NewJob } from '../../src/storage/new-job.js';
import type { JobEdit, Settlement, TakeBack } from '../../src/storage/settlement.js';
import type { WorkerChange, WorkerReport } from '../../src/storage/worker-record.js';
import type { FileOperation } from './file-operations.js';
import type { HubOperation } from './hub-operations.js';

/** A new job whose absolute due time is told from the start of the run. */
export type PlannedJob = Omit<NewJob, 'due'> & {
  readonly due: { readonly inMs: number } | { readonly startPlusMs: number };
};

/** An edit whose absolute due time is told from the start of the run. */
export type PlannedEdit = Omit<JobEdit, 'due'> & { readonly due?: PlannedJob['due'] };

export type PlannedChange =
  | { readonly kind: 'retry' | 'bury' | 'cancel' | 'delete' }
  | { readonly kind: 'edit'; readonly edit: PlannedEdit };

/** A decision without the lease end it saw: each storage has its own; `stale` misses it. */
export type PlannedTakeBack = WithoutLeaseEnd<TakeBack> & { readonly stale: boolean };

/** Of each kind by itself, so that the kinds stay apart. */
type WithoutLeaseEnd<One> = One extends TakeBack ? Omit<One, 'leaseUntilMs'> : never;

/** One call of the seam, as data: it can be printed, repeated and left out. */
export type Operation =
  | { readonly method: 'enqueue'; readonly jobs: readonly PlannedJob[] }
  | { readonly method: 'claim'; readonly request: ClaimRequest }
  | { readonly method: 'settle'; readonly settlements: readonly Settlement[] }
  | {
      readonly method: 'exchange';
      readonly settlements: readonly Settlement[];
      readonly request: ClaimRequest;
    }
  | { readonly method: 'markStarted'; readonly leases: readonly Lease[] }
  | { readonly method: 'held'; readonly incarnation: string }
  | { readonly method: 'renew'; readonly incarnation: string; readonly leaseMs: number }
  | { readonly method: 'peek'; readonly request: PeekRequest }
  | { readonly method: 'expired'; readonly expiredForMs: number; readonly limit: number }
  | { readonly method: 'takeBack'; readonly decisions: readonly PlannedTakeBack[] }
  | { readonly method: 'retry' | 'bury' | 'cancel' | 'delete' | 'job' | 'ahead'; readonly id: string }
  | { readonly method: 'edit'; readonly id: string; readonly edit: PlannedEdit }
  | {
      readonly method: 'changeMany';
      readonly change: PlannedChange;
      readonly ids: readonly string[];
      readonly status: JobStatus | null;
    }
  | { readonly method: 'retryBuried'; readonly queue: string | null; readonly limit: number }
  | { readonly method: 'setPaused'; readonly queue: string; readonly paused: boolean }
  | {
      readonly method: 'purge';
      readonly statuses: readonly ('completed' | 'buried' | 'cancelled')[];
      readonly olderThanMs: number;
    }
  | { readonly method: 'purgeTraces'; readonly olderThanMs: number }
  | { readonly method: 'jobs'; readonly filter: JobFilter; readonly limit: number }
  | { readonly method: 'endings'; readonly ids: readonly string[] }
  | { readonly method: 'idsEndingIn'; readonly suffix: string }
  | { readonly method: 'stats'; readonly queue: string | null }
  | { readonly method: 'appendLog'; readonly lines: readonly NewLogLine[] }
  | { readonly method: 'log'; readonly id: string; readonly limit: number }
  | { readonly method: 'register'; readonly report: WorkerReport; readonly aliveMs: number }
  | { readonly method: 'heartbeat'; readonly report: WorkerReport }
  | { readonly method: 'unregister'; readonly id: string; readonly incarnation: string }
  | { readonly method: 'orders' | 'forgetSilent'; readonly id: string }
  | {
      readonly method: 'changeWorker';
      readonly id: string;
      readonly change: WorkerChange;
      readonly audit: NewAuditEntry;
    }
  | { readonly method: 'audit' }
  | { readonly method: 'takeDuty'; readonly name: string; readonly holder: string; readonly ttlMs: number }
  | { readonly method: 'releaseDuty'; readonly name: string; readonly holder: string }
  | { readonly method: 'tidy'; readonly settled: number; readonly idle: boolean }
  | { readonly method: 'noteProfiles'; readonly notes: readonly ProfileNote[] }
  | { readonly method: 'profiles'; readonly names: readonly string[]; readonly windowMs: number }
  | { readonly method: 'limits' | 'queues' }
  | { readonly method: 'releaseBlocked' | 'pausedQueues' | 'workers' | 'now' | 'serverUptimeMs' | 'watch' }
  | HubOperation
  | FileOperation
  /** Not of the seam: lets time pass. */
  | { readonly method: 'advance'; readonly ms: number };

export type Method = Operation['method'];
