import type { MillraceEvents } from '../client/events.js';
import type { RunnableJob } from '../client/job-definition.js';
import type { Logger } from '../internal/logger.js';
import type { SettingValues } from '../internal/settings.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { FileSettings } from '../storage/files/create-keeper.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import type { Budgets } from '../storage/job-limit.js';
import type { Storage } from '../storage/storage.js';
import type { WorkerStorage } from '../storage/worker-storage.js';
import type { AdmissionSettings } from './admission/admission.js';
import type { ContextPorts } from './attempt-context.js';
import type { BrowserKind } from './lanes/browser-kind.js';
import type { LaneSettings } from './lanes/plan-lanes.js';

/** What a worker needs of the application that carries it. */
export interface WorkerHost {
  /** Opens on first use; rejects as `Storage.open` does. */
  storage(): Promise<Storage>;
  /** Where a second connection may be opened from another thread, and how; null when storage was handed over as an object. */
  readonly database: {
    readonly url: string;
    readonly storageOptions: Readonly<Record<string, unknown>>;
  } | null;
  readonly definitions: ReadonlyMap<string, RunnableJob>;
  readonly logger: Logger;
  readonly events: TypedEvents<MillraceEvents>;
  /** Files of jobs, where the database is at hand. */
  readonly files: FileKeeper;
  readonly dispatch: ContextPorts['dispatch'];
  /** The same, where jobs go another way than by `storage`. */
  readonly dispatchOver: (storage: Pick<WorkerStorage, 'enqueue' | 'within'>) => ContextPorts['dispatch'];
  /** Loads what makes browser lanes, where a worker asks for some; without it there are none. */
  readonly loadBrowserKind?: () => Promise<BrowserKind>;
  readonly settings: WorkerSettings;
  readonly version: string;
  /** Draws the jitter of retries, from 0 up to 1. @default Math.random */
  readonly random?: () => number;
}

/** All in ms but the counts. */
export interface WorkerSettings {
  readonly leaseMs: number;
  /** Between heartbeats; at most a third of the lease. */
  readonly heartbeatMs: number;
  readonly pollMs: number;
  readonly killGraceMs: number;
  readonly stopTimeoutMs: number;
  readonly workerTtlMs: number;
  readonly staleReapMs: number;
  readonly reapIntervalMs: number;
  readonly retentionMs: number;
  readonly logRetentionMs: number;
  readonly maxPayloadBytes: number;
  readonly files: FileSettings;
  readonly lanes: LaneSettings;
  /** On the summed cost of what runs, of all workers together. */
  readonly budgets: Budgets;
  /** All settings of the client, for a child that makes a client of its own from a config. */
  readonly values: SettingValues;
  readonly admission: AdmissionSettings;
}
