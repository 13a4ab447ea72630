/**
 * The storage seam on one SQLite file, on the calling thread. Each method is one short transaction; the head of
 * `writer.ts` says how they share commits and how they wait for other processes.
 */
import type { JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import type { AccessToken, NewAccessToken, TokenCreation, TokenRevocation } from '../access-token.js';
import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import type { Capabilities } from '../capabilities.js';
import type { ClaimedJob, ClaimRequest, HeldLease, Lease, PeekRequest } from '../claimed-job.js';
import type { Diagnosis } from '../diagnosis.js';
import type { HandlerProfile, ProfileNote } from '../handler-profile.js';
import type { HubRecord, HubReport } from '../hub-record.js';
import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from '../job-file.js';
import type { LimitState } from '../job-limit.js';
import type { LogLine, NewLogLine } from '../job-log.js';
import type { JobEnding, JobFilter, JobPage, JobPageRequest, JobRecord, QueueStats } from '../job-record.js';
import type { MigrationReport } from '../migrate/run-migrations.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import type {
  ControlChange,
  ControlOutcome,
  ExpiredLease,
  JobEdit,
  Settlement,
  SettleOutcome,
  TakeBack,
  TakeBackOutcome,
} from '../settlement.js';
import type { Storage, StorageOptions } from '../storage.js';
import type { SyncTransactionQueue, TransactionQueue } from '../transaction/queue.js';
import type {
  FleetOrders,
  HeartbeatAnswer,
  Registration,
  WorkerChange,
  WorkerChangeOutcome,
  WorkerOrders,
  WorkerRecord,
  WorkerReport,
} from '../worker-record.js';
import * as tokens from './access-tokens.js';
import * as claims from './claim.js';
import { type Connection, isMemoryFile } from './connection.js';
import * as control from './control.js';
import { diagnose } from './diagnose.js';
import { enqueue } from './enqueue.js';
import * as files from './files.js';
import * as hubs from './hubs.js';
import * as inspect from './inspect.js';
import * as leases from './leases.js';
import { limits } from './limit-states.js';
import { jobs } from './list.js';
import * as logs from './log.js';
import * as profiles from './profiles.js';
import * as purges from './purge.js';
import { pausedQueueNames } from './queries/kinds.js';
import * as recovery from './recover.js';
import { Session, type SessionOptions } from './session.js';
import { settle } from './settle.js';
import { releaseBlocked, retryBuried } from './sweeps.js';
import { checkpoint } from './tidy.js';
import type { Transaction } from './transaction.js';
import { type WithinOptions, within, withinSync } from './within.js';
import * as fleet from './workers.js';

export interface SqliteStorageOptions extends StorageOptions {
  /** Path of the file, made if there is none (its folder too); `:memory:` for one that ends with the process. */
  readonly file: string;
  /** `FULL`: what was answered survives a power cut. `NORMAL`: it survives a crash of the process; faster. @default 'FULL' */
  readonly synchronous?: 'FULL' | 'NORMAL';
  /** Another part of this process has the file open: one that is missing was removed, and is not made anew. @default false */
  readonly mustExist?: boolean;
}

export class SqliteStorage implements Storage {
  readonly #options: SessionOptions;
  #opening: Promise<Session> | undefined;
  #session: Session | undefined;
  #server = 'SQLite';
  /** The newest claim found nothing, so the next one looks before it takes the write lock. */
  #wasEmpty = false;

  constructor(options: SqliteStorageOptions) {
    this.#options = {
      ...options,
      synchronous: options.synchronous ?? 'FULL',
      mustExist: options.mustExist ?? false,
    };
  }

  get capabilities(): Capabilities {
    const isShared = !isMemoryFile(this.#options.file);
    return { engine: 'sqlite', server: this.#server, shared: isShared, push: true, durable: isShared };
  }

  async open(): Promise<void> {
    this.#opening ??= Session.open(this.#options);
    try {
      const session = await this.#opening;
      this.#server = `SQLite ${session.db.value<string>('select sqlite_version()')}`;
      this.#session = session;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** Opens the file if it is not open, which brings its schema up to date, and says what that changed. */
  async migrate(): Promise<MigrationReport> {
    await this.open();
    return this.#open().migrated;
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    this.#session = undefined;
    // An open that failed has nothing to close, and has told its own caller.
    const session = await opening?.catch(() => undefined);
    session?.close();
  }

  now(): Promise<number> {
    return this.#read('now', (_, nowMs) => nowMs);
  }

  async serverUptimeMs(): Promise<number | null> {
    return Promise.resolve(null);
  }

  enqueue(newJobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    return this.#write('enqueue', newJobs.length, (tx) => enqueue(tx, newJobs));
  }

  within(tx: unknown): TransactionQueue {
    return within(tx, this.#withinOptions());
  }

  withinSync(tx: unknown): SyncTransactionQueue {
    return withinSync(tx, this.#withinOptions());
  }

  async claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    if (this.#wasEmpty && !(await this.#read('claim', (db, nowMs) => claims.canClaim(db, request, nowMs))))
      return [];
    const claimed = await this.#write('claim', mostClaimed(request), (tx) => claims.claim(tx, request));
    this.#wasEmpty = claimed.length === 0;
    return claimed;
  }

  settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    return this.#write('settle', settlements.length, (tx) => settle(tx, settlements));
  }

  async exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    if (settlements.length === 0) return { settled: [], claimed: await this.claim(request) };
    const rows = settlements.length + mostClaimed(request);
    const answer = await this.#write('exchange', rows, (tx) => ({
      settled: settle(tx, settlements),
      claimed: claims.claim(tx, request),
    }));
    this.#wasEmpty = answer.claimed.length === 0;
    return answer;
  }

  markStarted(held: readonly Lease[]): Promise<string[]> {
    return this.#write('markStarted', held.length, (tx) => leases.markStarted(tx, held));
  }

  renew(incarnation: string, leaseMs: number): Promise<HeldLease[]> {
    return this.#write('renew', 1, (tx) => leases.renew(tx, incarnation, leaseMs));
  }

  held(incarnation: string): Promise<HeldLease[]> {
    return this.#read('held', (db) => leases.held(db, incarnation));
  }

  peek(request: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    return this.#read('peek', (db, nowMs) => leases.peek(db, nowMs, request));
  }

  expired(request: recovery.ExpiredRequest): Promise<ExpiredLease[]> {
    return this.#read('expired', (db, nowMs) => recovery.expired(db, nowMs, request));
  }

  takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
    return this.#write('takeBack', decisions.length, (tx) => recovery.takeBack(tx, decisions));
  }

  async releaseBlocked(limit: number): Promise<number> {
    return releaseBlocked(this.#open(), limit);
  }

  retry(id: string): Promise<ControlOutcome> {
    return this.#write('retry', 1, (tx) => control.retry(tx, id));
  }

  async retryBuried(request: {
    queue?: string;
    limit: number;
  }): Promise<{ retried: number; duplicates: number }> {
    return retryBuried(this.#open(), request);
  }

  bury(id: string): Promise<ControlOutcome> {
    return this.#write('bury', 1, (tx) => control.stop(tx, id, 'bury'));
  }

  cancel(id: string): Promise<ControlOutcome> {
    return this.#write('cancel', 1, (tx) => control.stop(tx, id, 'cancel'));
  }

  delete(id: string): Promise<ControlOutcome> {
    return this.#write('delete', 1, (tx) => control.stop(tx, id, 'delete'));
  }

  edit(id: string, edit: JobEdit): Promise<ControlOutcome> {
    return this.#write('edit', 1, (tx) => control.edit(tx, id, edit));
  }

  changeMany(request: {
    change: ControlChange;
    ids: readonly string[];
    status?: JobStatus;
  }): Promise<ControlOutcome[]> {
    return this.#write('changeMany', request.ids.length, (tx) => control.changeMany(tx, request));
  }

  setPaused(queue: string, paused: boolean): Promise<void> {
    return this.#write('setPaused', 1, (tx) => control.setPaused(tx, queue, paused));
  }

  pausedQueues(): Promise<string[]> {
    return this.#read('pausedQueues', (db) => db.values<string>(pausedQueueNames));
  }

  async purge(request: purges.PurgeRequest): Promise<number> {
    const purge = purges.purge;
    return this.#open().writeInParts('purge', request.limit, (tx, limit) => purge(tx, { ...request, limit }));
  }

  async purgeTraces(request: { olderThanMs: number; limit: number }): Promise<number> {
    const session = this.#open();
    let purged = 0;
    for (const trace of purges.traces) {
      const part = (tx: Parameters<typeof trace>[0], limit: number): number =>
        trace(tx, { ...request, limit });
      purged += await session.writeInParts('purgeTraces', request.limit, part);
    }
    await session.write('purgeTraces', 1_000, (tx) => purges.purgeLines(tx, Math.min(request.limit, 1_000)));
    return purged;
  }

  job(id: string): Promise<JobRecord | null> {
    return this.#read('job', (db) => inspect.job(db, id));
  }

  jobs(filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
    return this.#read('jobs', (db) => jobs(db, filter, page));
  }

  ahead(id: string): Promise<number | null> {
    return this.#read('ahead', (db, nowMs) => inspect.ahead(db, nowMs, id));
  }

  endings(ids: readonly string[]): Promise<JobEnding[]> {
    return this.#read('endings', (db) => inspect.endings(db, ids));
  }

  idsEndingIn(suffix: string): Promise<string[]> {
    return this.#read('idsEndingIn', (db) => inspect.idsEndingIn(db, suffix));
  }

  stats(queue?: string): Promise<QueueStats[]> {
    return this.#read('stats', (db, nowMs) => inspect.stats(db, nowMs, queue));
  }

  queues(): Promise<string[]> {
    return this.#read('queues', (db) => inspect.queues(db));
  }

  limits(): Promise<LimitState[]> {
    return this.#read('limits', limits);
  }

  appendLog(lines: readonly NewLogLine[]): Promise<void> {
    return this.#write('appendLog', lines.length, (tx) => logs.appendLog(tx, lines));
  }

  log(id: string, page: { after?: string; limit: number }): Promise<LogLine[]> {
    return this.#read('log', (db) => logs.log(db, id, page));
  }

  register(report: WorkerReport, aliveMs: number, ended: string | null = null): Promise<Registration> {
    return this.#write('register', 1, (tx) => fleet.register(tx, report, { aliveMs, ended }));
  }

  heartbeat(report: WorkerReport, epoch?: number): Promise<HeartbeatAnswer> {
    return this.#write('heartbeat', 1, (tx) => fleet.heartbeat(tx, report, epoch));
  }

  noteDisconnected(id: string, incarnation: string, epoch: number): Promise<boolean> {
    return this.#write('noteDisconnected', 1, (tx) => fleet.noteDisconnected(tx, id, { incarnation, epoch }));
  }

  fleetOrders(): Promise<FleetOrders> {
    return this.#read('fleetOrders', (db) => fleet.fleetOrders(db));
  }

  stopRequests(incarnations: readonly string[]): Promise<HeldLease[]> {
    return this.#read('stopRequests', (db) => leases.stopRequests(db, incarnations));
  }

  addFile(addition: FileAddition): Promise<FileAdditionOutcome> {
    return this.#write('addFile', 1, (tx) => files.addFile(tx, addition));
  }

  files(jobId: string): Promise<FileRecord[]> {
    return this.#read('files', (db) => files.files(db, jobId));
  }

  file(id: string): Promise<FileRecord | null> {
    return this.#read('file', (db) => files.file(db, id));
  }

  sweepFiles(request: { after: string | null; limit: number }): Promise<FileSweep> {
    return this.#write('sweepFiles', request.limit, (tx) =>
      files.sweepFiles(tx, request.after, request.limit),
    );
  }

  keptContents(hashes: readonly string[]): Promise<string[]> {
    return this.#read('keptContents', (db) => files.keptContents(db, hashes));
  }

  fileStoreId(proposed: string | null): Promise<string | null> {
    return this.#write('fileStoreId', 1, (tx) => files.fileStoreId(tx, proposed));
  }

  hubBeat(hub: HubReport): Promise<void> {
    return this.#write('hubBeat', 1, (tx) => hubs.hubBeat(tx, hub));
  }

  hubs(): Promise<HubRecord[]> {
    return this.#read('hubs', (db, nowMs) => hubs.hubs(db, nowMs));
  }

  removeHub(id: string): Promise<void> {
    return this.#write('removeHub', 1, (tx) => hubs.removeHub(tx, id));
  }

  orders(id: string): Promise<WorkerOrders> {
    return this.#read('orders', (db) => fleet.orders(db, id));
  }

  unregister(id: string, incarnation: string): Promise<void> {
    return this.#write('unregister', 1, (tx) => fleet.unregister(tx, id, incarnation));
  }

  workers(): Promise<WorkerRecord[]> {
    return this.#read('workers', fleet.workers);
  }

  changeWorker(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome> {
    return this.#write('changeWorker', 1, (tx) => fleet.changeWorker(tx, id, { change, audit }));
  }

  forgetSilent(id: string, heartbeatAtMs: number): Promise<boolean> {
    return this.#write('forgetSilent', 1, (tx) => fleet.forgetSilent(tx, id, heartbeatAtMs));
  }

  audit(page: AuditPageRequest): Promise<AuditEntry[]> {
    return this.#read('audit', (db) => fleet.audit(db, page));
  }

  noteAudit(entry: NewAuditEntry, result: string): Promise<void> {
    return this.#write('noteAudit', 1, (tx) => fleet.noteAudit(tx, entry, result));
  }

  createToken(token: NewAccessToken, audit: NewAuditEntry): Promise<TokenCreation> {
    return this.#write('createToken', 1, (tx) => tokens.createToken(tx, token, audit));
  }

  token(id: string): Promise<AccessToken | null> {
    return this.#read('token', (db, nowMs) => tokens.token(db, nowMs, id));
  }

  tokens(): Promise<AccessToken[]> {
    return this.#read('tokens', (db, nowMs) => tokens.tokens(db, nowMs));
  }

  revokeToken(id: string, audit: NewAuditEntry): Promise<TokenRevocation> {
    return this.#write('revokeToken', 1, (tx) => tokens.revokeToken(tx, id, audit));
  }

  takeDuty(name: string, holder: string, ttlMs: number): Promise<boolean> {
    return this.#write('takeDuty', 1, (tx) => fleet.takeDuty(tx, name, holder, ttlMs));
  }

  releaseDuty(name: string, holder: string): Promise<void> {
    return this.#write('releaseDuty', 1, (tx) => fleet.releaseDuty(tx, name, holder));
  }

  noteProfiles(notes: readonly ProfileNote[]): Promise<void> {
    return this.#write('noteProfiles', notes.length, (tx) => profiles.noteProfiles(tx, notes));
  }

  profiles(names: readonly string[], windowMs: number): Promise<HandlerProfile[]> {
    return this.#read('profiles', (db, nowMs) => profiles.profiles(db, nowMs, { names, windowMs }));
  }

  async tidy(request: { settled: number; idle: boolean }): Promise<void> {
    if (request.idle) checkpoint(this.#open().db);
    return Promise.resolve();
  }

  async diagnose(): Promise<Diagnosis[]> {
    return Promise.resolve(diagnose(this.#open().db));
  }

  async watch(onWake: (queues: readonly string[] | null) => void): Promise<AsyncDisposable> {
    return Promise.resolve(this.#open().wakeUps.watch(onWake));
  }

  // Async for what #open throws only: the promise inside is the one that is waited for.
  async #write<T>(name: string, rows: number, run: (tx: Transaction) => T): Promise<T> {
    return this.#open().write(name, rows, run);
  }

  async #read<T>(name: string, run: (db: Connection, nowMs: number) => T): Promise<T> {
    return this.#open().read(name, run);
  }

  #withinOptions(): WithinOptions {
    const session = this.#open();
    session.requireFile();
    return { file: session.db.file, offsetMs: () => this.#options.clock?.offsetMs() ?? 0 };
  }

  #open(): Session {
    if (this.#session !== undefined) return this.#session;
    throw new MillraceError(
      'closed',
      `the storage of the SQLite file ${this.#options.file} is not open. Call open() first`,
    );
  }
}

const mostClaimed = ({ takes }: ClaimRequest): number => takes.reduce((sum, { limit }) => sum + limit, 0);
