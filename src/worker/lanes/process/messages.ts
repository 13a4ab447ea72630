/**
 * What crosses between a worker (the parent) and the child of a process lane, as JSON in frames.
 *
 *   parent                                   child
 *   hello ─────────────────────────────────▶ loads the module
 *         ◀───────────────────────────────── ready (its job names)
 *   run ───────────────────────────────────▶
 *         ◀───────────────────────────────── started (before the handler is called), line*, said*, call*, written*
 *   abort ─────────────────────────────────▶ fires the signal
 *   answer (to a call) ────────────────────▶
 *         ◀───────────────────────────────── ended
 *   bye ───────────────────────────────────▶ exits
 *
 * The child is trusted as far as the handlers in it are, which is not far: what comes from it is checked, and a message
 * that does not fit is left out and told of, never acted upon.
 */
import type { SettingValues } from '../../../internal/settings.js';
import type { ClaimedJob } from '../../../storage/claimed-job.js';
import type { UploadStart, UploadState } from '../../../storage/files/file-port.js';
import type { FileRecord } from '../../../storage/job-file.js';
import type { NewLogLine } from '../../../storage/job-log.js';
import type { EnqueueOutcome, NewJob } from '../../../storage/new-job.js';
import type { Settlement } from '../../../storage/settlement.js';
import type { AbortCause } from '../../attempt.js';
import type { LaneUsage } from '../lane.js';

/** What a settlement is without the lease that it ends: the parent knows that itself. */
export type LeaselessSettlement = Settlement extends infer Kind
  ? Kind extends Settlement
    ? Omit<Kind, 'id' | 'token'>
    : never
  : never;

export interface HelloMessage {
  readonly type: 'hello';
  /** Of the package: files that were replaced under a running worker would not understand each other. */
  readonly version: string;
  readonly lane: number;
  readonly workerId: string;
  /** `file:` address of the module to load. */
  readonly module: string;
  /** Job names that it must have code for. */
  readonly names: readonly string[];
  readonly maxPayloadBytes: number;
  /** For a config: where its jobs are kept, and the settings in force. */
  readonly database: string | null;
  readonly settings: SettingValues | null;
  /** Where compiled configs are kept: the child's own folder goes with it. */
  readonly cacheFolder: string;
}

export interface RunMessage {
  readonly type: 'run';
  /** Counts up; what a handler still says after its end is told from the next one's by it. */
  readonly run: number;
  readonly job: ClaimedJob;
  /** The folder of this job alone, made by the child and wiped by the worker; null: there is none to be had. */
  readonly folder: string | null;
  /** Database clock minus this machine's. */
  readonly skewMs: number;
}

export type DownMessage =
  | HelloMessage
  | RunMessage
  | { readonly type: 'abort'; readonly run: number; readonly cause: AbortCause }
  | { readonly type: 'answer'; readonly seq: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly seq: number; readonly error: CalledError }
  | { readonly type: 'bye' };

/** A `MillraceError` on its way. */
export interface CalledError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}

export type LaneCall =
  | { readonly method: 'enqueue'; readonly jobs: readonly NewJob[] }
  | { readonly method: 'renew' }
  | { readonly method: 'was-settled'; readonly hasFailed: boolean }
  | FileCall;

type NamedUpload = Omit<UploadStart, 'lease'>;

/** Of the files of its job; bytes as base64. */
export type FileCall =
  | { readonly method: 'file-begin' | 'file-drop'; readonly start: NamedUpload }
  | {
      readonly method: 'file-piece';
      readonly start: NamedUpload;
      readonly offset: number;
      readonly data: string;
    }
  | { readonly method: 'file-end'; readonly start: NamedUpload; readonly sizeBytes: number }
  | { readonly method: 'file-list' }
  | { readonly method: 'file-find'; readonly id: string }
  | { readonly method: 'file-read'; readonly id: string; readonly offset: number };

export interface LaneAnswers {
  enqueue: EnqueueOutcome[];
  renew: boolean;
  'was-settled': boolean;
  'file-begin': UploadState;
  'file-piece': number;
  'file-end': FileRecord;
  'file-drop': void;
  'file-list': FileRecord[];
  'file-find': FileRecord | null;
  'file-read': string;
}

export type UpMessage = { readonly type: 'ready'; readonly names: readonly string[] } | JobMessage;

/** What is said in the name of the job of a run. */
export type JobMessage = { readonly run: number } & (
  | { readonly type: 'started' }
  /** A line of the job's own log, or its progress. */
  | { readonly type: 'line'; readonly line: Pick<NewLogLine, 'seq' | 'kind' | 'level' | 'text'> }
  /** A line for the log of the worker. */
  | {
      readonly type: 'said';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly type: 'call'; readonly seq: number; readonly call: LaneCall }
  /** The handler has ended its job inside a transaction of its own, which may not be committed yet. */
  | { readonly type: 'written'; readonly settlement: LeaselessSettlement }
  | {
      readonly type: 'ended';
      /** Null: the lease is lost. */
      readonly settlement: LeaselessSettlement | null;
      /** It is known to be committed by the handler itself. */
      readonly isSettled: boolean;
      readonly usage: LaneUsage | null;
    }
);
