/** What crosses between the main loop and the link thread: plain data only. */
import type { LogFields } from '../../internal/logger.js';
import type { FileSettings } from '../../storage/files/create-keeper.js';
import type { AdminState } from '../../storage/worker-record.js';
import type { OwnedProcess } from '../owned-process.js';
import type { LinkSettings, LinkSnapshot, WorkerIdentity, WorkerStatus } from './link.js';

/** Given to the thread at its birth. */
export interface LinkThreadData {
  readonly databaseUrl: string;
  readonly storageOptions: Readonly<Record<string, unknown>>;
  readonly identity: WorkerIdentity;
  readonly settings: LinkSettings;
  /** Run the duties here as well. */
  readonly duties: DutySettings | null;
  /** Of the database, for the duties. */
  readonly files: FileSettings;
  readonly watch: WatchSettings;
}

/** For watching the main loop. */
export interface WatchSettings {
  /** Of `LoopPulse`. */
  readonly memory: SharedArrayBuffer;
  readonly owned: OwnedProcess | null;
}

export interface DutySettings {
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly logRetentionMs: number;
  readonly staleReapMs: number;
  readonly reapIntervalMs: number;
}

export type LinkDownMessage =
  | { readonly type: 'report'; readonly status: WorkerStatus }
  | { readonly type: 'stop'; readonly deadlineMs: number };

export type LinkUpMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'registered'; readonly adminState: AdminState }
  | { readonly type: 'snapshot'; readonly snapshot: LinkSnapshot }
  | { readonly type: 'clock-skew'; readonly skewMs: number }
  | { readonly type: 'admin-state'; readonly adminState: AdminState }
  | { readonly type: 'recycle-asked' }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: LogFields;
    }
  | { readonly type: 'stopped' };
