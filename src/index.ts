export type { StandardSchemaV1 } from '@standard-schema/spec';
export { type CapturePageOptions, capturePage } from './browser/capture/index.js';
export type {
  CreatedToken,
  CreateTokenOptions,
  RevokeOutcome,
  TokenListing,
} from './client/access-tokens.js';
export type {
  BrowserJobContext,
  BrowserMembers,
  CdpCallOptions,
  CdpClient,
} from './client/browser-job.js';
export type { BrowserOption, BrowserOptions } from './client/browser-options.js';
export type {
  GotoOptions,
  NewCookie,
  PdfOptions,
  ScreenshotOptions,
  ScrollTarget,
  Tab,
  TabCondition,
  TabCookie,
  TabLanding,
  TabLink,
  TabOptions,
} from './client/browser-tab.js';
export type { BulkEditOptions, BulkOptions, BulkReport } from './client/bulk-control.js';
export type { AssetKind, CaptureAssets, CaptureOptions } from './client/capture/capture-options.js';
export type {
  CapturedAsset,
  CapturedFile,
  CaptureProblem,
  CaptureResult,
} from './client/capture/capture-result.js';
export type { CaptureStep } from './client/capture/capture-steps.js';
export { pageCapture } from './client/capture/page-capture.js';
export type {
  ControlKind,
  PurgeableStatus,
  PurgeOptions,
  RetryBuriedOptions,
  SyncTransactionOption,
  TransactionOption,
} from './client/control.js';
export { defineConfig, type MillraceConfig, type WorkerConfig } from './client/define-config.js';
export { defineJob } from './client/define-job.js';
export type { DispatchOptions, JobReference, SyncDispatchOptions } from './client/dispatch-options.js';
export type { EditOptions } from './client/edit-options.js';
export type { AttemptEventFacts, EventName, JobEventFacts, MillraceEvents } from './client/events.js';
export type {
  AuditListing,
  AuditOptions,
  AuditPage,
  OperatorOptions,
} from './client/fleet-control.js';
export type { FleetRecycleReport } from './client/fleet-recycle.js';
export type { RecycleFleetOptions } from './client/fleet-recycle-options.js';
export type { MillraceHttpOptions } from './client/http/http-options.js';
export { MillraceHttp } from './client/http/millrace-http.js';
export type { JobsOptions, JobsPage, LogOptions } from './client/inspect.js';
export type { JobContext, JobFacts } from './client/job-context.js';
export type { JobDefinition, Upcast } from './client/job-definition.js';
export type { JobFailure } from './client/job-failure.js';
export type { FileContent, JobFiles, OpenedFile, PutFileOptions, StoredFile } from './client/job-files.js';
export type { JobHandle, ResultOptions } from './client/job-handle.js';
export type {
  CommonJobOptions,
  JobOptionsWithoutSchema,
  JobOptionsWithSchema,
} from './client/job-options.js';
export type { InputOf, OutputOfJob, WaitOptions } from './client/job-types.js';
export type { FailedParent, Job, JobListing, JobLogLine } from './client/job-view.js';
export type { JobsWhere, Moment } from './client/jobs-where.js';
export type { Jsonified } from './client/jsonified.js';
export type { DispatchLimit, LimitOption } from './client/limit-option.js';
export { Millrace } from './client/millrace.js';
export type { MillraceOptions, SettingOptions } from './client/millrace-options.js';
export { cancel, NonRetriable, type Outcome, RetryAfter, snooze } from './client/outcomes.js';
export type { JobProgress } from './client/progress-watcher.js';
export type { UniqueOption } from './client/unique-option.js';
export type { Why, WhyReason } from './client/why.js';
export type { WhyWorker } from './client/why-worker.js';
export type { WorkerLaneView, WorkerListing } from './client/worker-view.js';
export type { Backoff, BackoffType } from './core/backoff.js';
export type { JobLane } from './core/job-lane.js';
export type { JobStatus } from './core/job-status.js';
export type { Priority } from './core/priority.js';
export type { ReasonCode } from './core/why-facts.js';
export type { WorkerReason, WorkerReasonCode } from './core/why-worker.js';
export type { Duration } from './internal/duration.js';
export type { ErrorCode } from './internal/error-codes.js';
export { isMillraceError, MillraceError } from './internal/errors.js';
export type { AttemptFailureKind, FailureRecord } from './internal/failure.js';
export { createLineLogger, type LogFields, type Logger, type LogLevel } from './internal/logger.js';
export type { QueueSelection, QueueShare } from './internal/queue-selection.js';
export { uuidv7 as newJobId } from './internal/uuid.js';
export { version } from './internal/version.js';
export type { RescueReport } from './maintenance/rescuer.js';
export type { TokenRole } from './storage/access-token.js';
export type { JobLimit, LimitState } from './storage/job-limit.js';
export type { QueueStats } from './storage/job-record.js';
export type { FailedParentPolicy } from './storage/new-job.js';
export { type CreateStorageOptions, createStorage } from './storage/open-storage.js';
export type { ControlOutcome } from './storage/settlement.js';
export type { Storage, StorageClock, StorageOptions } from './storage/storage.js';
export type { SyncUserTransaction, UserTransaction } from './storage/transaction/user-transaction.js';
export type { WorkerChangeOutcome } from './storage/worker-record.js';
export type { RunReport, TickReport } from './worker/run-report.js';
export type { FlushOptions, TickOptions } from './worker/tick.js';
export type { Worker, WorkerStopOptions } from './worker/worker.js';
export type { WorkerOptions } from './worker/worker-options.js';
