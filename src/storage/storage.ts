/**
 * The storage seam: the queue in its own words, one implementation per engine, the memory one being the oracle of all.
 *
 * A job is in one status: `blocked` (waits for other jobs) → `pending` (waits for its time, turn or a slot) →
 * `processing` (under a lease) → `completed` | `buried` | `cancelled` (final). Where a status lives (a column, a table)
 * is the engine's own business.
 *
 * Promises of every method:
 * - Each transition is compare-and-set, guarded by status or by lease token. What lost its guard is reported as a value
 *   per row and changes nothing. One bad row of a batch never changes what becomes of its neighbours.
 * - A call is one transaction, or several that each leave a true state. What it resolves with is committed as durably as
 *   the engine's settings say. When it rejects, the caller does not know whether it was committed: repeating the same
 *   call with the same ids and tokens is safe, and how it answers then is said at each method.
 * - Time that decides or is stored is the database's, in integer ms, plus the offset of the injected clock.
 * - Deadlocks, lock timeouts and serialization failures are retried inside (at the outermost transaction, with jitter).
 *   Everything else rejects with a `MillraceError` whose `retryable` says if waiting may cure it (`connection-lost`,
 *   `database-unreachable`, `database-locked`, `database-full`, `deadline-exceeded`). A lost connection is reopened by
 *   the next call. No call waits for ever: each statement has a deadline.
 * - Texts come back as they were given. They hold no NUL and no lone surrogate (JSON escapes them; the worker makes what
 *   handlers say printable): some engines refuse such a text, and a refused settlement would keep its job from ending.
 * - Order: priority (high first), then due time, then id. Nothing that can't run (not due, blocked, paused queue, unknown
 *   name, must run alone, full limit, used budget, missing label) hides or delays what can.
 * - Limits and budgets hold exactly, whoever claims at the same time; what they count is leases, so an ending or a lease
 *   that is taken back gives its place free in the same step (`job-limit.ts`).
 * - Keys of one group take turns: where a job of a group comes next (at its priority, by due time and id), the key that
 *   was served longest ago goes in its place, with its own first job; a key never served before goes first.
 *
 * What ends a job ends it for those that wait: completed counts as met; buried, cancelled and deleted act by each
 * dependent's policy, at once and on down (`reason` is then `parent-failed`, nothing is charged). An ending counts once: a
 * parent that is retried later does not make anyone wait again. A blocked job keeps its own due time.
 *
 * Locks, where a transaction takes several: parents before dependents, and within each in ascending id; then keys.
 *
 * What it does not promise: that a wake-up arrives (they are hints), that a log line is kept, that a lease which has
 * lapsed is taken back at a certain time (that is the rescuer's, on evidence).
 */
import type { JobStatus } from '../core/job-status.js';
import type { AccessToken, NewAccessToken, TokenCreation, TokenRevocation } from './access-token.js';
import type { AuditEntry, AuditPageRequest, NewAuditEntry } from './audit.js';
import type { Capabilities } from './capabilities.js';
import type { ClaimedJob, ClaimRequest, HeldLease, Lease, PeekRequest } from './claimed-job.js';
import type { HandlerProfile, ProfileNote } from './handler-profile.js';
import type { HubRecord, HubReport } from './hub-record.js';
import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from './job-file.js';
import type { LimitState } from './job-limit.js';
import type { LogLine, NewLogLine } from './job-log.js';
import type { JobEnding, JobFilter, JobPage, JobPageRequest, JobRecord, QueueStats } from './job-record.js';
import type { EnqueueOutcome, NewJob } from './new-job.js';
import type {
  ControlChange,
  ControlOutcome,
  ExpiredLease,
  JobEdit,
  Settlement,
  SettleOutcome,
  TakeBack,
  TakeBackOutcome,
} from './settlement.js';
import type { SyncTransactionQueue, TransactionQueue } from './transaction/queue.js';
import type {
  FleetOrders,
  HeartbeatAnswer,
  Registration,
  WorkerChange,
  WorkerChangeOutcome,
  WorkerOrders,
  WorkerRecord,
  WorkerReport,
} from './worker-record.js';

export interface Storage {
  /** Known after `open`. */
  readonly capabilities: Capabilities;

  /** Connects, checks versions and schema (SQLite and memory also migrate). Does nothing while open. Errors: `database-unreachable`, `database-too-old`, `schema-missing`, `schema-too-new`, `schema-too-old`, `driver-missing`. */
  open(): Promise<void>;
  /** Ends connections and watches within a bounded time, also with the database away. Idempotent. */
  close(): Promise<void>;
  /** The database's clock plus the injected offset, epoch ms. */
  now(): Promise<number>;
  /** How long the database server has been up, ms; null where there is no server that could have been away. Evidence for the rescuer. */
  serverUptimeMs(): Promise<number | null>;

  // ── dispatch ──────────────────────────────────────────────────────────────────────────────────────────────────
  /** Writes the jobs, in order, at most 1,000 a call; outcomes stand in the same order. A repeat answers `replayed` for what had been written, also when those jobs are final by now. What stands against a row is looked at in this order, the first answers: its id, its idempotency key, its unique key, its parents. Rows of one call see the earlier ones. Wakes watchers after commit. */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]>;

  // ── a user's transaction ──────────────────────────────────────────────────────────────────────────────────────
  /** The queue inside an open transaction of the user's, known by its structure (`transaction/recognise.ts`). Nothing is tried again there, no session state is left, no unique violation raised. Errors, here or by its calls: `tx-invalid` (the wrong handle, nothing was written), `tx-aborted` (the transaction can't go on). Watchers learn of it after the commit, on engines that push. */
  within(tx: unknown): TransactionQueue;
  /** The same for handles whose statements are done when they return; only SQLite has such. */
  withinSync(tx: unknown): SyncTransactionQueue;

  // ── the life of a lease ───────────────────────────────────────────────────────────────────────────────────────
  /** Takes due jobs in order, take by take. A repeat of a token returns those of its jobs that are still held under it (turns of keys left out of their order), and takes none; when none is, it is a fresh claim. */
  claim(request: ClaimRequest): Promise<ClaimedJob[]>;
  /** Ends leases, at most 1,000 a call; outcomes stand in the same order. A stop request turns every kind but `completed` into what it asks for (reason `operator`); what the attempt itself did (charge, errors) is recorded all the same. Releases, buries or cancels dependents in the same transaction. A repeat answers `done` where the job is final under this token, else `lease-lost`. */
  settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]>;
  /** `settle` and then `claim`, in one round trip and commit where the engine can. Each keeps its own rules for a repeat. */
  exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }>;
  /** Marks held jobs as started, so that a death of the worker counts. Returns the ids whose lease is lost. */
  markStarted(leases: readonly Lease[]): Promise<string[]>;
  /** Extends every lease of the incarnation to now + `leaseMs`, also one past its end that nobody took back, and returns what it holds. One that another transaction has locked is passed over, not waited for: the next beat extends it. */
  renew(incarnation: string, leaseMs: number): Promise<HeldLease[]>;
  /** What the incarnation holds, extending nothing. */
  held(incarnation: string): Promise<HeldLease[]>;
  /** When an idle worker should look again: ms until the next pending job that these takes could get falls due (0 = one could be claimed now; null = none waits), those that must run alone left out, and whether one of these is due. Paused queues count as empty, and so does what is due but kept by its limit or a budget; what lacks a label counts as unknown. */
  peek(request: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }>;

  // ── recovery ──────────────────────────────────────────────────────────────────────────────────────────────────
  /** Leases that ended at least `expiredForMs` ago, oldest first; pages by `after` (the last one seen). */
  expired(request: {
    expiredForMs: number;
    limit: number;
    after?: { leaseUntilMs: number; id: string };
  }): Promise<ExpiredLease[]>;
  /** Applies the rescuer's decisions, each guarded by token and by the lease end it saw. A stop request recorded in the meantime goes before every kind, as in `settle`. Dependents follow as in `settle`. */
  takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]>;
  /** Sweep: ends the waiting of blocked jobs whose parents are all final (or gone), up to `limit`; returns how many it moved. In a healthy system 0. */
  releaseBlocked(limit: number): Promise<number>;

  // ── operators ─────────────────────────────────────────────────────────────────────────────────────────────────
  /** Buried or cancelled → pending, due now, attempts, deaths, lapses and `alone` reset, errors kept, unique key taken again if its scope is `active`; pending → due now, its reason forgotten. Blocked, processing, completed: `not-allowed`. */
  retry(id: string): Promise<ControlOutcome>;
  /** Retries buried jobs in ascending id until `limit` were retried; returns how many, and how many it passed over because another job holds their unique key. */
  retryBuried(request: { queue?: string; limit: number }): Promise<{ retried: number; duplicates: number }>;
  /** Pending, blocked → buried (reason `operator`); processing → `requested` (of several requests the last one stands); final → `already-final`. Not charged. */
  bury(id: string): Promise<ControlOutcome>;
  /** Pending, blocked → cancelled (reason `operator`); processing → `requested`; final → `already-final`. */
  cancel(id: string): Promise<ControlOutcome>;
  /** Removes the job with its log and keys (its dependents follow as after a cancel); processing → `requested`. */
  delete(id: string): Promise<ControlOutcome>;
  /** Changes a pending or blocked job where it stands (a blocked one's due time not: `not-allowed`); processing: `not-allowed`, final: `already-final`. A pending one goes to its new place in line. */
  edit(id: string, edit: JobEdit): Promise<ControlOutcome>;
  /** One change for many jobs, each named once, at most 1,000 a call; outcomes stand in the same order, each as of the method of that name when all are looked at before the first is changed. With `status` only jobs that still have it are changed, others answer `not-allowed`. Of several retries that want one unique key the lowest id gets it. */
  changeMany(request: {
    change: ControlChange;
    ids: readonly string[];
    status?: JobStatus;
  }): Promise<ControlOutcome[]>;
  setPaused(queue: string, paused: boolean): Promise<void>;
  pausedQueues(): Promise<string[]>;
  /** Deletes final rows of these statuses that ended at least `olderThanMs` ago (for completed and cancelled ones the row's own `retentionMs` goes before it), with their log and keys but for a unique period that still runs, never one that a job which is not final waits for or waited for; up to `limit`, returns how many. */
  purge(request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  }): Promise<number>;
  /** Deletes log lines older than `olderThanMs`, unique periods that have passed, audit entries past their time, workers whose last word (heartbeat or goodbye) is a day old (their `adminState` is kept unless it is `active`), profiles older than a day, and what is kept of lines and keys that no live job has and none was given for a day; up to `limit` each. The last of these are not counted. */
  purgeTraces(request: { olderThanMs: number; limit: number }): Promise<number>;

  // ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────
  job(id: string): Promise<JobRecord | null>;
  jobs(filter: JobFilter, page: JobPageRequest): Promise<JobPage>;
  /** How many due jobs of its queue and line (of those that run alone, if it does) stand before this pending one in the order of the claim, whatever their name, counted up to 10,000; null unless it is pending. */
  ahead(id: string): Promise<number | null>;
  /** Of these ids, those that are known, in no order. Cheap enough to be asked often. */
  endings(ids: readonly string[]): Promise<JobEnding[]>;
  /** Full ids that end in this text (6 … 36 characters of a UUID), among live jobs and the newest 10,000 final ones; at most 10. */
  idsEndingIn(suffix: string): Promise<string[]>;
  /** Every queue that has a job or is paused (queues that had one may be listed too), or the one asked for (zeros when unknown). */
  stats(queue?: string): Promise<QueueStats[]>;
  /** The names of the queues that have a job, sorted; those that once had one may be listed too. Cheap enough to be asked each second. */
  queues(): Promise<string[]>;
  /** What runs and waits under limits, by group and key (null first); groups and keys with neither are left out. The first 1,000. */
  limits(): Promise<LimitState[]>;

  // ── log ───────────────────────────────────────────────────────────────────────────────────────────────────────
  /** Keeps at most 1,000 lines and 256 KB a job; what comes beyond is dropped. Lines whose lease is neither the job's present one nor the one that ended it are dropped. A repeated seq of one lease is kept once. */
  appendLog(lines: readonly NewLogLine[]): Promise<void>;
  log(id: string, page: { after?: string; limit: number }): Promise<LogLine[]>;

  // ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────
  /** Lists a file whose bytes are kept already; one of the same name goes. A repeat changes nothing but its time. */
  addFile(addition: FileAddition): Promise<FileAdditionOutcome>;
  /** The files of a job in the order of their names, however many (their number is capped where they are added). */
  files(jobId: string): Promise<FileRecord[]>;
  /** Null: unknown, or its job is gone. */
  file(id: string): Promise<FileRecord | null>;
  /** Removes, of the next `limit` files after this id, those whose job is gone. */
  sweepFiles(request: { after: string | null; limit: number }): Promise<FileSweep>;
  /** Of these hashes, those that a file has, in no order; at most 1,000 a call. */
  keptContents(hashes: readonly string[]): Promise<string[]>;
  /** The id of the one byte store of this database: the proposed one where it had none; null where none is known or proposed. */
  fileStoreId(proposed: string | null): Promise<string | null>;

  // ── workers and duties ────────────────────────────────────────────────────────────────────────────────────────
  /** Adds or replaces the registration of this id; its `adminState` stays what it was. `taken`: another incarnation under this id was heard within `aliveMs`, and is not `ended`: one that the caller knows to be over. A recycle that was asked of another incarnation is forgotten. */
  register(report: WorkerReport, aliveMs: number, ended?: string | null): Promise<Registration>;
  /**
   * Refreshes it. `unknown`: no registration of this id and incarnation, or it said goodbye; register again.
   * `superseded`: it was called with an epoch that is no longer the one of the registration, which is left as it is.
   */
  heartbeat(report: WorkerReport, epoch?: number): Promise<HeartbeatAnswer>;
  /** Notes that the hub lost its socket; a heartbeat or registration forgets that. False: another epoch or incarnation, or it said goodbye. */
  noteDisconnected(id: string, incarnation: string, epoch: number): Promise<boolean>;
  /** What operators want of all workers and queues, where it is not the ordinary. */
  fleetOrders(): Promise<FleetOrders>;
  /** Running jobs that operators want ended, of these incarnations, in any order; at most 1,000. Cheap where there are none: asked every second by a hub. */
  stopRequests(incarnations: readonly string[]): Promise<HeldLease[]>;
  /** Adds the hub or refreshes it. */
  hubBeat(hub: HubReport): Promise<void>;
  /** All that are known, by id; those silent for a day are left out and swept by `purgeTraces`. */
  hubs(): Promise<HubRecord[]>;
  removeHub(id: string): Promise<void>;
  /** What operators want of this worker, and the paused queues; asked every second. An unknown id is active. */
  orders(id: string): Promise<WorkerOrders>;
  /** Marks it as gone (it said goodbye). */
  unregister(id: string, incarnation: string): Promise<void>;
  /** Does it and writes the audit entry, with the outcome as its result, in one transaction. A repeat does it again and is written once. */
  changeWorker(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome>;
  /** Removes a registration whose last word (heartbeat or goodbye) is still the one of `heartbeatAtMs`; its `adminState` is kept for when the id comes back, unless it is `active`. False: it was heard since, or is not there. */
  forgetSilent(id: string, heartbeatAtMs: number): Promise<boolean>;
  /** Newest first. */
  audit(page: AuditPageRequest): Promise<AuditEntry[]>;
  /** Writes the deed of an operator that needs no row of its own here, with what came of it. A repeat of its id is written once. */
  noteAudit(entry: NewAuditEntry, result: string): Promise<void>;
  /** Keeps a token and writes the audit entry, in one transaction. A repeat of the id with the same hash changes nothing; with another: `duplicate`. */
  createToken(token: NewAccessToken, audit: NewAuditEntry): Promise<TokenCreation>;
  /** Also one that is revoked or expired; null: unknown. */
  token(id: string): Promise<AccessToken | null>;
  /** Newest first. */
  tokens(): Promise<AccessToken[]>;
  /** It holds no more from now on; with the audit entry, in one transaction. */
  revokeToken(id: string, audit: NewAuditEntry): Promise<TokenRevocation>;
  workers(): Promise<WorkerRecord[]>;
  /** Takes or extends the singleton task `name` for `ttlMs`; false when another holder has it. */
  takeDuty(name: string, holder: string, ttlMs: number): Promise<boolean>;
  releaseDuty(name: string, holder: string): Promise<void>;
  /** Adds what ended attempts took to the profiles of their handlers. Told once; one that is lost does no harm. */
  noteProfiles(notes: readonly ProfileNote[]): Promise<void>;
  /** What the attempts of these handlers took that were noted in the last `windowMs` (by the minute); names without any are left out, in the order of the names. */
  profiles(names: readonly string[], windowMs: number): Promise<HandlerProfile[]>;
  /** The engine's own housekeeping (vacuum, checkpoint, folding of counters), told how many jobs were settled since the last call and whether nothing runs now. */
  tidy(request: { settled: number; idle: boolean }): Promise<void>;

  // ── wake-ups ──────────────────────────────────────────────────────────────────────────────────────────────────
  /** Calls `onWake` soon after jobs may have become claimable (queue names when known, else null). Hints only: may be late, doubled or missing. */
  watch(onWake: (queues: readonly string[] | null) => void): Promise<AsyncDisposable>;
}

/** Ms to add to the database's clock; 0 in production, moved by tests. */
export interface StorageClock {
  offsetMs(): number;
}

export interface StorageOptions {
  readonly clock?: StorageClock;
  /** Deadline of one statement. @default 30 000 */
  readonly statementTimeoutMs?: number;
  /** Told what storage does by itself: reconnects, retries. Silent by default. */
  readonly logger?: import('../internal/logger.js').Logger;
}
