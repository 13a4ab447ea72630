/**
 * The queue on MySQL (8.0.11, its first release, or newer) and MariaDB (10.6 or newer). The tables are explained in
 * `migrations/0001_first-tables.sql`, the guard that keeps values out of texts in `sql.ts`. Two connections: the main one
 * takes packets of several statements and carries everything that writes jobs; the side one is for leases, workers and
 * looking, so that neither waits for the other. Each is made when it is first needed.
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
import { checkSchema } from '../migrate/check-schema.js';
import { type MigrationReport, runMigrations } from '../migrate/run-migrations.js';
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
import type { Storage } from '../storage.js';
import type { SyncTransactionQueue, TransactionQueue } from '../transaction/queue.js';
import { syncHandle } from '../transaction/recognise.js';
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
import { changeMany } from './change-many.js';
import * as claims from './claims.js';
import { openConnection, type Server } from './connection.js';
import type { Context } from './context.js';
import * as control from './control.js';
import { diagnose } from './diagnose.js';
import { Dictionary } from './dictionary.js';
import type { DriverConnection } from './driver.js';
import { Enqueuer } from './enqueuing.js';
import * as files from './files.js';
import * as fleet from './fleet.js';
import { HeldFacts } from './held-facts.js';
import * as hubs from './hubs.js';
import * as inspecting from './inspecting.js';
import { Lanes } from './lanes.js';
import * as leases from './leases.js';
import { limits } from './limits.js';
import { Lines } from './lines.js';
import { jobs } from './listing.js';
import * as logs from './logs.js';
import { mysqlMigrations, Schema } from './migrate.js';
import { Notifier } from './notify.js';
import { type MysqlStorageOptions, type ResolvedMysqlOptions, resolveOptions } from './options.js';
import { peek } from './peek.js';
import * as profiles from './profiles.js';
import * as purging from './purging.js';
import * as recovery from './recovery.js';
import { Session } from './session.js';
import * as settling from './settling.js';
import { type Sql, sql } from './sql.js';
import { Survey } from './survey.js';
import { sweepLanes } from './sweeping-lines.js';
import { tablesWith } from './tables.js';
import * as tokens from './tokens.js';
import { within } from './within.js';

export class MysqlStorage implements Storage {
  readonly #options: ResolvedMysqlOptions;
  #open: { readonly context: Context; readonly enqueuer: Enqueuer } | undefined;
  #server: Server | undefined;
  #sweptAt = Number.NEGATIVE_INFINITY;

  /** @throws MillraceError `option-invalid`, `database-url-invalid` */
  constructor(options: MysqlStorageOptions) {
    this.#options = resolveOptions(options);
  }

  get capabilities(): Capabilities {
    return Object.freeze({
      engine: 'mysql',
      server: this.#server?.label ?? 'MySQL or MariaDB, not connected yet',
      shared: true,
      push: false,
      durable: true,
    });
  }

  async open(): Promise<void> {
    if (this.#open !== undefined) return;
    if (this.#options.migrate === 'auto') await this.migrate();
    const context = this.#newContext();
    try {
      const found = await new Schema(context.side, context.t, this.#schemaOptions()).read();
      checkSchema({ found, migrations: mysqlMigrations() });
      context.applied.version = found?.version ?? 0;
    } catch (error) {
      await context.side.close();
      throw error;
    }
    this.#open = { context, enqueuer: new Enqueuer(context) };
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    open.context.notifier.close();
    await Promise.all([open.context.main.close(), open.context.side.close()]);
  }

  /** Brings the schema up to date, under a lock; of two at once the second finds nothing to do. */
  async migrate(): Promise<MigrationReport> {
    const session = this.#session('migrating connection', false, () => undefined, migrationStepTimeoutMs);
    try {
      const target = new Schema(session, tablesWith(this.#options.tablePrefix), this.#schemaOptions());
      return await runMigrations(target, mysqlMigrations());
    } finally {
      await session.close();
    }
  }

  async now(): Promise<number> {
    const context = this.#context();
    const [result] = await context.side.send('reading the time', sql`select ${context.now()}`);
    return Number(result?.rows[0]?.[0]);
  }

  async diagnose(): Promise<Diagnosis[]> {
    return diagnose(this.#context().side);
  }

  async serverUptimeMs(): Promise<number | null> {
    const [result] = await this.#context().side.send(
      'reading the uptime',
      sql`show global status like 'Uptime'`,
    );
    return Number(result?.rows[0]?.[1]) * 1000;
  }

  enqueue(newJobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    if (this.#open === undefined) return Promise.reject(closed());
    return this.#open.enqueuer.enqueue(newJobs);
  }

  within(tx: unknown): TransactionQueue {
    return within(tx, this.#context());
  }

  withinSync(tx: unknown): SyncTransactionQueue {
    syncHandle(tx, 'mysql');
    throw new MillraceError('internal', 'MySQL: no handle of it answers at once');
  }

  async claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    return claims.claim(this.#context(), request);
  }

  async settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    return settling.settle(this.#context(), settlements);
  }

  async exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    return settling.exchange(this.#context(), settlements, request);
  }

  async markStarted(held: readonly Lease[]): Promise<string[]> {
    return leases.markStarted(this.#context(), held);
  }

  async renew(incarnation: string, leaseMs: number): Promise<HeldLease[]> {
    return leases.renew(this.#context(), incarnation, leaseMs);
  }

  async held(incarnation: string): Promise<HeldLease[]> {
    return leases.held(this.#context(), incarnation);
  }

  async peek(request: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    return peek(this.#context(), request);
  }

  async expired(request: {
    expiredForMs: number;
    limit: number;
    after?: { leaseUntilMs: number; id: string };
  }): Promise<ExpiredLease[]> {
    return recovery.expired(this.#context(), request);
  }

  async takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
    return recovery.takeBack(this.#context(), decisions);
  }

  async releaseBlocked(limit: number): Promise<number> {
    return recovery.releaseBlocked(this.#context(), limit);
  }

  async retry(id: string): Promise<ControlOutcome> {
    return control.retry(this.#context(), id);
  }

  async retryBuried(request: {
    queue?: string;
    limit: number;
  }): Promise<{ retried: number; duplicates: number }> {
    return control.retryBuried(this.#context(), request);
  }

  async bury(id: string): Promise<ControlOutcome> {
    return control.stop(this.#context(), id, 'bury');
  }

  async cancel(id: string): Promise<ControlOutcome> {
    return control.stop(this.#context(), id, 'cancel');
  }

  async delete(id: string): Promise<ControlOutcome> {
    return control.stop(this.#context(), id, 'delete');
  }

  async edit(id: string, edit: JobEdit): Promise<ControlOutcome> {
    const [outcome] = await changeMany(this.#context(), { change: { kind: 'edit', edit }, ids: [id] });
    return outcome ?? 'not-found';
  }

  async changeMany(request: {
    change: ControlChange;
    ids: readonly string[];
    status?: JobStatus;
  }): Promise<ControlOutcome[]> {
    return changeMany(this.#context(), request);
  }

  async setPaused(queue: string, paused: boolean): Promise<void> {
    return control.setPaused(this.#context(), queue, paused);
  }

  async pausedQueues(): Promise<string[]> {
    return control.pausedQueues(this.#context());
  }

  async purge(request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  }): Promise<number> {
    return purging.purge(this.#context(), request);
  }

  async purgeTraces(request: { olderThanMs: number; limit: number }): Promise<number> {
    return purging.purgeTraces(this.#context(), request);
  }

  async job(id: string): Promise<JobRecord | null> {
    return inspecting.job(this.#context(), id);
  }

  async jobs(filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
    return jobs(this.#context(), filter, page);
  }

  async ahead(id: string): Promise<number | null> {
    return inspecting.ahead(this.#context(), id);
  }

  async endings(ids: readonly string[]): Promise<JobEnding[]> {
    return inspecting.endings(this.#context(), ids);
  }

  async idsEndingIn(suffix: string): Promise<string[]> {
    return inspecting.idsEndingIn(this.#context(), suffix);
  }

  async stats(queue?: string): Promise<QueueStats[]> {
    return inspecting.stats(this.#context(), queue);
  }

  async queues(): Promise<string[]> {
    return inspecting.queues(this.#context());
  }

  async limits(): Promise<LimitState[]> {
    return limits(this.#context());
  }

  async appendLog(lines: readonly NewLogLine[]): Promise<void> {
    return logs.appendLog(this.#context(), lines);
  }

  async log(id: string, page: { after?: string; limit: number }): Promise<LogLine[]> {
    return logs.log(this.#context(), id, page);
  }

  async register(report: WorkerReport, aliveMs: number, ended: string | null = null): Promise<Registration> {
    return fleet.register(this.#context(), report, { aliveMs, ended });
  }

  async heartbeat(report: WorkerReport, epoch?: number): Promise<HeartbeatAnswer> {
    return fleet.heartbeat(this.#context(), report, epoch);
  }

  async noteDisconnected(id: string, incarnation: string, epoch: number): Promise<boolean> {
    return fleet.noteDisconnected(this.#context(), id, { incarnation, epoch });
  }

  async fleetOrders(): Promise<FleetOrders> {
    return fleet.fleetOrders(this.#context());
  }

  async stopRequests(incarnations: readonly string[]): Promise<HeldLease[]> {
    return leases.stopRequests(this.#context(), incarnations);
  }

  async addFile(addition: FileAddition): Promise<FileAdditionOutcome> {
    return files.addFile(this.#context(), addition);
  }

  async files(jobId: string): Promise<FileRecord[]> {
    return files.files(this.#context(), jobId);
  }

  async file(id: string): Promise<FileRecord | null> {
    return files.file(this.#context(), id);
  }

  async sweepFiles(request: { after: string | null; limit: number }): Promise<FileSweep> {
    return files.sweepFiles(this.#context(), request);
  }

  async keptContents(hashes: readonly string[]): Promise<string[]> {
    return files.keptContents(this.#context(), hashes);
  }

  async fileStoreId(proposed: string | null): Promise<string | null> {
    return files.fileStoreId(this.#context(), proposed);
  }

  async hubBeat(hub: HubReport): Promise<void> {
    return hubs.hubBeat(this.#context(), hub);
  }

  async hubs(): Promise<HubRecord[]> {
    return hubs.hubs(this.#context());
  }

  async removeHub(id: string): Promise<void> {
    return hubs.removeHub(this.#context(), id);
  }

  async orders(id: string): Promise<WorkerOrders> {
    return fleet.orders(this.#context(), id);
  }

  async unregister(id: string, incarnation: string): Promise<void> {
    return fleet.unregister(this.#context(), id, incarnation);
  }

  async workers(): Promise<WorkerRecord[]> {
    return fleet.workers(this.#context());
  }

  async changeWorker(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome> {
    return fleet.changeWorker(this.#context(), id, { change, audit });
  }

  async forgetSilent(id: string, heartbeatAtMs: number): Promise<boolean> {
    return fleet.forgetSilent(this.#context(), id, heartbeatAtMs);
  }

  async audit(page: AuditPageRequest): Promise<AuditEntry[]> {
    return fleet.audit(this.#context(), page);
  }

  async noteAudit(entry: NewAuditEntry, result: string): Promise<void> {
    return fleet.noteAudit(this.#context(), entry, result);
  }

  async createToken(token: NewAccessToken, audit: NewAuditEntry): Promise<TokenCreation> {
    return tokens.createToken(this.#context(), token, audit);
  }

  async token(id: string): Promise<AccessToken | null> {
    return tokens.token(this.#context(), id);
  }

  async tokens(): Promise<AccessToken[]> {
    return tokens.tokens(this.#context());
  }

  async revokeToken(id: string, audit: NewAuditEntry): Promise<TokenRevocation> {
    return tokens.revokeToken(this.#context(), id, audit);
  }

  async takeDuty(name: string, holder: string, ttlMs: number): Promise<boolean> {
    return fleet.takeDuty(this.#context(), name, holder, ttlMs);
  }

  async releaseDuty(name: string, holder: string): Promise<void> {
    return fleet.releaseDuty(this.#context(), name, holder);
  }

  async noteProfiles(notes: readonly ProfileNote[]): Promise<void> {
    return profiles.noteProfiles(this.#context(), notes);
  }

  async profiles(names: readonly string[], windowMs: number): Promise<HandlerProfile[]> {
    return profiles.profiles(this.#context(), names, windowMs);
  }

  async tidy(_request: { settled: number; idle: boolean }): Promise<void> {
    const context = this.#context();
    await fleet.tidy(context);
    if (performance.now() - this.#sweptAt < sweepEveryMs) return;
    this.#sweptAt = performance.now();
    await profiles.foldProfiles(context);
    await sweepLanes(context);
  }

  async watch(onWake: (queues: readonly string[] | null) => void): Promise<AsyncDisposable> {
    return this.#context().notifier.watch(onWake);
  }

  #context(): Context {
    if (this.#open === undefined) throw closed();
    return this.#open.context;
  }

  #newContext(): Context {
    const t = tablesWith(this.#options.tablePrefix);
    const forget = (): void => {
      for (const cache of [queues, names, lanes, lines, survey]) cache.forget();
      held.clear();
    };
    const main = this.#session('main connection', true, forget);
    const side = this.#session('side connection', false, () => undefined);
    const queues = new Dictionary(side, t.queues);
    const names = new Dictionary(side, t.names);
    const lanes = new Lanes(main, t);
    const held = new HeldFacts();
    const { logger, offsetMs } = this.#options;
    const now = (): Sql => nowPlus(offsetMs());
    const survey = new Survey(t, { now, offsetMs });
    const lines = new Lines(main, t, { now, offsetMs });
    return {
      t,
      applied: { version: 0 },
      main,
      side,
      queues,
      names,
      lanes,
      lines,
      survey,
      held,
      logger,
      notifier: new Notifier(),
      now,
      server: () => this.#server ?? unknownServer,
    };
  }

  /** `forget`: the tables may have been made anew while there was no connection, or while they were missed. */
  #session(
    name: string,
    several: boolean,
    forget: () => void,
    statementTimeoutMs = this.#options.statementTimeoutMs,
  ): Session {
    const { address, logger } = this.#options;
    const connect = async (timeoutMs: number): Promise<DriverConnection> => {
      const opened = await openConnection({ address, several, statementTimeoutMs, timeoutMs });
      this.#server = opened.server;
      forget();
      return opened.driver;
    };
    return new Session({ name, connect, several, statementTimeoutMs, logger, onMissing: forget });
  }

  #schemaOptions() {
    const { address, tablePrefix, statementTimeoutMs } = this.#options;
    return { database: address.database, tablePrefix, lockTimeoutMs: statementTimeoutMs };
  }
}

/** What is left of lines and profiles grows slowly. */
const sweepEveryMs = 10_000;

/** An index over all history needs its time. */
const migrationStepTimeoutMs = 15 * 60_000;

/** Read anew by every statement; the offset is 0 in production. */
function nowPlus(offsetMs: number): Sql {
  return sql`(cast(unix_timestamp(now(3)) * 1000 as signed) + ${offsetMs})`;
}

/** Before the first connection: what the oldest servers take. */
const unknownServer: Server = { isMariaDb: false, label: '', maxPacketBytes: 4 * 1024 * 1024 };

const closed = (): MillraceError =>
  new MillraceError('closed', 'storage: expected an open one, got a call before open() or after close()');
