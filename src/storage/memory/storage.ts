/**
 * The reference model of the storage seam: everything in plain maps, each call one synchronous step. The engines are
 * compared with it; it is also what tests of applications run on. It keeps its contents until the object is dropped.
 */
import type { JobStatus } from '../../core/job-status.js';
import { MillraceError } from '../../internal/errors.js';
import type { AccessToken, NewAccessToken, TokenCreation, TokenRevocation } from '../access-token.js';
import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import type { Capabilities } from '../capabilities.js';
import type { ClaimedJob, ClaimRequest, HeldLease, Lease, PeekRequest } from '../claimed-job.js';
import type { HandlerProfile, ProfileNote } from '../handler-profile.js';
import type { HubRecord, HubReport } from '../hub-record.js';
import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from '../job-file.js';
import type { LimitState } from '../job-limit.js';
import type { LogLine, NewLogLine } from '../job-log.js';
import type { JobEnding, JobFilter, JobPage, JobPageRequest, JobRecord, QueueStats } from '../job-record.js';
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
import * as claims from './claim.js';
import * as control from './control.js';
import { enqueue } from './enqueue.js';
import * as files from './files.js';
import * as hubs from './hubs.js';
import * as inspect from './inspect.js';
import { limits } from './limits.js';
import { jobs } from './list.js';
import * as logs from './log.js';
import * as purges from './purge.js';
import * as recovery from './recovery.js';
import { settle } from './settle.js';
import { MemoryState } from './state.js';
import * as tokens from './tokens.js';
import { WakeUps } from './wake-ups.js';
import { refuseTransaction } from './within.js';
import * as fleet from './workers.js';

export interface MemoryStorageOptions extends StorageOptions {
  /** The clock itself, epoch ms, for tests in which time stands still. @default the system's */
  readonly systemNow?: () => number;
}

export class MemoryStorage implements Storage {
  readonly capabilities: Capabilities = Object.freeze({
    engine: 'memory',
    server: 'memory',
    shared: false,
    push: true,
    durable: false,
  });
  readonly #state: MemoryState;
  readonly #wakeUps = new WakeUps();
  #closed = false;

  constructor(options: MemoryStorageOptions = {}) {
    const { clock, systemNow = () => Date.now() } = options;
    this.#state = new MemoryState(() => systemNow() + (clock?.offsetMs() ?? 0));
  }

  open(): Promise<void> {
    this.#closed = false;
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#wakeUps.close();
    return Promise.resolve();
  }

  now(): Promise<number> {
    return this.#step((state) => state.now());
  }

  serverUptimeMs(): Promise<number | null> {
    return this.#step(() => null);
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    return this.#step((state) => enqueue(state, jobs));
  }

  within(_tx: unknown): TransactionQueue {
    return refuseTransaction();
  }

  withinSync(_tx: unknown): SyncTransactionQueue {
    return refuseTransaction();
  }

  claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    return this.#step((state) => claims.claim(state, request));
  }

  settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    return this.#step((state) => settle(state, settlements));
  }

  exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    return this.#step((state) => {
      const settled = settle(state, settlements);
      return { settled, claimed: claims.claim(state, request) };
    });
  }

  markStarted(leases: readonly Lease[]): Promise<string[]> {
    return this.#step((state) => claims.markStarted(state, leases));
  }

  renew(incarnation: string, leaseMs: number): Promise<HeldLease[]> {
    return this.#step((state) => claims.renew(state, incarnation, leaseMs));
  }

  held(incarnation: string): Promise<HeldLease[]> {
    return this.#step((state) => claims.held(state, incarnation));
  }

  peek(request: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    return this.#step((state) => claims.peek(state, request));
  }

  expired(request: {
    expiredForMs: number;
    limit: number;
    after?: { leaseUntilMs: number; id: string };
  }): Promise<ExpiredLease[]> {
    return this.#step((state) => recovery.expired(state, request));
  }

  takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
    return this.#step((state) => recovery.takeBack(state, decisions));
  }

  releaseBlocked(limit: number): Promise<number> {
    return this.#step((state) => recovery.releaseBlocked(state, limit));
  }

  retry(id: string): Promise<ControlOutcome> {
    return this.#step((state) => control.retry(state, id));
  }

  retryBuried(request: { queue?: string; limit: number }): Promise<{ retried: number; duplicates: number }> {
    return this.#step((state) => control.retryBuried(state, request));
  }

  bury(id: string): Promise<ControlOutcome> {
    return this.#step((state) => control.stop(state, id, 'bury'));
  }

  cancel(id: string): Promise<ControlOutcome> {
    return this.#step((state) => control.stop(state, id, 'cancel'));
  }

  delete(id: string): Promise<ControlOutcome> {
    return this.#step((state) => control.stop(state, id, 'delete'));
  }

  edit(id: string, edit: JobEdit): Promise<ControlOutcome> {
    return this.#step((state) => control.edit(state, id, edit));
  }

  changeMany(request: {
    change: ControlChange;
    ids: readonly string[];
    status?: JobStatus;
  }): Promise<ControlOutcome[]> {
    return this.#step((state) => control.changeMany(state, request));
  }

  setPaused(queue: string, paused: boolean): Promise<void> {
    return this.#step((state) => control.setPaused(state, queue, paused));
  }

  pausedQueues(): Promise<string[]> {
    return this.#step((state) => [...state.paused].sort());
  }

  purge(request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  }): Promise<number> {
    return this.#step((state) => purges.purge(state, request));
  }

  purgeTraces(request: { olderThanMs: number; limit: number }): Promise<number> {
    return this.#step((state) => purges.purgeTraces(state, request));
  }

  job(id: string): Promise<JobRecord | null> {
    return this.#step((state) => inspect.job(state, id));
  }

  jobs(filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
    return this.#step((state) => jobs(state, filter, page));
  }

  ahead(id: string): Promise<number | null> {
    return this.#step((state) => inspect.ahead(state, id));
  }

  endings(ids: readonly string[]): Promise<JobEnding[]> {
    return this.#step((state) => inspect.endings(state, ids));
  }

  idsEndingIn(suffix: string): Promise<string[]> {
    return this.#step((state) => inspect.idsEndingIn(state, suffix));
  }

  stats(queue?: string): Promise<QueueStats[]> {
    return this.#step((state) => inspect.stats(state, queue));
  }

  queues(): Promise<string[]> {
    return this.#step((state) => inspect.queues(state));
  }

  limits(): Promise<LimitState[]> {
    return this.#step((state) => limits(state));
  }

  appendLog(lines: readonly NewLogLine[]): Promise<void> {
    return this.#step((state) => logs.appendLog(state, lines));
  }

  log(id: string, page: { after?: string; limit: number }): Promise<LogLine[]> {
    return this.#step((state) => logs.log(state, id, page));
  }

  register(report: WorkerReport, aliveMs: number, ended: string | null = null): Promise<Registration> {
    return this.#step((state) => fleet.register(state, report, { aliveMs, ended }));
  }

  heartbeat(report: WorkerReport, epoch?: number): Promise<HeartbeatAnswer> {
    return this.#step((state) => fleet.heartbeat(state, report, epoch));
  }

  noteDisconnected(id: string, incarnation: string, epoch: number): Promise<boolean> {
    return this.#step((state) => fleet.noteDisconnected(state, id, { incarnation, epoch }));
  }

  fleetOrders(): Promise<FleetOrders> {
    return this.#step((state) => fleet.fleetOrders(state));
  }

  stopRequests(incarnations: readonly string[]): Promise<HeldLease[]> {
    return this.#step((state) => hubs.stopRequests(state, incarnations));
  }

  addFile(addition: FileAddition): Promise<FileAdditionOutcome> {
    return this.#step((state) => files.addFile(state, addition));
  }

  files(jobId: string): Promise<FileRecord[]> {
    return this.#step((state) => files.files(state, jobId));
  }

  file(id: string): Promise<FileRecord | null> {
    return this.#step((state) => files.file(state, id));
  }

  sweepFiles(request: { after: string | null; limit: number }): Promise<FileSweep> {
    return this.#step((state) => files.sweepFiles(state, request));
  }

  keptContents(hashes: readonly string[]): Promise<string[]> {
    return this.#step((state) => files.keptContents(state, hashes));
  }

  fileStoreId(proposed: string | null): Promise<string | null> {
    return this.#step((state) => files.fileStoreId(state, proposed));
  }

  hubBeat(hub: HubReport): Promise<void> {
    return this.#step((state) => hubs.hubBeat(state, hub));
  }

  hubs(): Promise<HubRecord[]> {
    return this.#step((state) => hubs.hubs(state));
  }

  removeHub(id: string): Promise<void> {
    return this.#step((state) => hubs.removeHub(state, id));
  }

  orders(id: string): Promise<WorkerOrders> {
    return this.#step((state) => fleet.orders(state, id));
  }

  unregister(id: string, incarnation: string): Promise<void> {
    return this.#step((state) => fleet.unregister(state, id, incarnation));
  }

  workers(): Promise<WorkerRecord[]> {
    return this.#step((state) => fleet.workers(state));
  }

  changeWorker(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome> {
    return this.#step((state) => fleet.changeWorker(state, id, { change, audit }));
  }

  forgetSilent(id: string, heartbeatAtMs: number): Promise<boolean> {
    return this.#step((state) => fleet.forgetSilent(state, id, heartbeatAtMs));
  }

  audit(page: AuditPageRequest): Promise<AuditEntry[]> {
    return this.#step((state) => fleet.audit(state, page));
  }

  noteAudit(entry: NewAuditEntry, result: string): Promise<void> {
    return this.#step((state) => fleet.noteAudit(state, entry, result));
  }

  createToken(token: NewAccessToken, audit: NewAuditEntry): Promise<TokenCreation> {
    return this.#step((state) => tokens.createToken(state, token, audit));
  }

  token(id: string): Promise<AccessToken | null> {
    return this.#step((state) => tokens.token(state, id));
  }

  tokens(): Promise<AccessToken[]> {
    return this.#step((state) => tokens.tokens(state));
  }

  revokeToken(id: string, audit: NewAuditEntry): Promise<TokenRevocation> {
    return this.#step((state) => tokens.revokeToken(state, id, audit));
  }

  takeDuty(name: string, holder: string, ttlMs: number): Promise<boolean> {
    return this.#step((state) => fleet.takeDuty(state, name, holder, ttlMs));
  }

  releaseDuty(name: string, holder: string): Promise<void> {
    return this.#step((state) => fleet.releaseDuty(state, name, holder));
  }

  noteProfiles(notes: readonly ProfileNote[]): Promise<void> {
    return this.#step((state) => state.profiles.note(notes, state.now()));
  }

  profiles(names: readonly string[], windowMs: number): Promise<HandlerProfile[]> {
    return this.#step((state) => state.profiles.of(names, windowMs, state.now()));
  }

  tidy(_request: { settled: number; idle: boolean }): Promise<void> {
    return this.#step(() => undefined);
  }

  watch(onWake: (queues: readonly string[] | null) => void): Promise<AsyncDisposable> {
    return this.#step(() => this.#wakeUps.watch(onWake));
  }

  /** Runs one synchronous step, then wakes those who watch. */
  async #step<T>(work: (state: MemoryState) => T): Promise<T> {
    if (this.#closed)
      throw new MillraceError('closed', 'storage: expected an open one, got a call after close()');
    this.#state.readClock();
    const answer = work(this.#state);
    if (this.#state.awakened.size > 0) {
      const queues = [...this.#state.awakened];
      this.#state.awakened.clear();
      this.#wakeUps.wake(queues);
    }
    return answer;
  }
}
