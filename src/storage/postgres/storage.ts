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
import { isOrdinary } from './bounds.js';
import { Claims } from './claim.js';
import { Connection } from './connection.js';
import type { Context, Session } from './context.js';
import { Control } from './control.js';
import { diagnose } from './diagnose.js';
import { Duties } from './duties.js';
import { Enqueuer } from './enqueue.js';
import { Exchange } from './exchange.js';
import { Files } from './files.js';
import { Followed } from './followed.js';
import { Hubs } from './hubs.js';
import { Inspector } from './inspect.js';
import { JobLog } from './job-log.js';
import { migrate, postgresMigrations, quoted, readSchema } from './migrate.js';
import { Notifier } from './notify.js';
import { type PostgresStorageOptions, type ResolvedPostgresOptions, resolveOptions } from './options.js';
import { Profiles } from './profiles.js';
import { clockQuery, serverFacts } from './queries/workers.js';
import { Rescue } from './rescue.js';
import { Settler } from './settle.js';
import { intOf, textOf } from './statement.js';
import { Tidier } from './tidy.js';
import { Tokens } from './tokens.js';
import { within } from './within.js';
import { Workers } from './workers.js';

/** The oldest server that has what the statements use. */
const oldestServer = 130_000;

/**
 * The queue on PostgreSQL 13 or newer.
 *
 * @example new PostgresStorage({ url: 'postgres://user:password@host:5432/database' })
 */
export class PostgresStorage implements Storage {
  readonly #options: ResolvedPostgresOptions;
  #parts: Parts | null = null;
  #opening: Promise<void> | null = null;
  #server = 'PostgreSQL';
  #isClosed = false;

  constructor(options: PostgresStorageOptions) {
    this.#options = resolveOptions(options);
  }

  get capabilities(): Capabilities {
    const push = this.#parts?.context.connection.isPooled !== true && this.#options.prepare;
    return { engine: 'postgres', server: this.#server, shared: true, push, durable: true };
  }

  open(): Promise<void> {
    if (this.#parts !== null) return Promise.resolve();
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#isClosed = true;
    const parts = this.#parts;
    this.#parts = null;
    if (parts !== null) await close(parts);
  }

  /** Brings the schema up to date; of two that run at once, one waits and finds nothing to do. */
  async migrate(): Promise<MigrationReport> {
    const connection = new Connection(this.#options);
    try {
      await this.#checkServer(connection);
    } finally {
      await connection.close();
    }
    return migrate(this.#options);
  }

  async now(): Promise<number> {
    const { context } = this.#open;
    return intOf((await context.connection.run(clockQuery, [context.offsetMs()]))[0]?.[0]);
  }

  async diagnose(): Promise<Diagnosis[]> {
    return this.#with((parts) => diagnose(parts.context.connection));
  }

  async serverUptimeMs(): Promise<number | null> {
    return intOf((await this.#open.context.connection.run(serverFacts))[0]?.[3]);
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    if (jobs.every(isOrdinary)) return this.#with((parts) => parts.enqueuer.enqueue(jobs));
    return this.#changing((parts) => parts.enqueuer.enqueue(jobs));
  }

  within(tx: unknown): TransactionQueue {
    const { context, enqueuer } = this.#open;
    return within(tx, { context, registries: enqueuer.registries, channel: this.#options.schema });
  }

  withinSync(tx: unknown): SyncTransactionQueue {
    syncHandle(tx, 'postgres');
    throw new MillraceError('internal', 'PostgreSQL: no handle of it answers at once');
  }

  claim(request: ClaimRequest): Promise<ClaimedJob[]> {
    return this.#with((parts) => parts.claims.claim(request));
  }

  settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    return this.#with((parts) => {
      parts.claims.bounded.noteEndings(settlements);
      return parts.settler.settle(settlements);
    });
  }

  exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    return this.#with((parts) => parts.exchange.exchange(settlements, request));
  }

  markStarted(leases: readonly Lease[]): Promise<string[]> {
    return this.#with((parts) => parts.claims.markStarted(leases));
  }

  renew(incarnation: string, leaseMs: number): Promise<HeldLease[]> {
    return this.#with((parts) => parts.claims.renew(incarnation, leaseMs));
  }

  held(incarnation: string): Promise<HeldLease[]> {
    return this.#with((parts) => parts.claims.held(incarnation));
  }

  peek(request: PeekRequest): Promise<{ dueInMs: number | null; aloneDue: boolean }> {
    return this.#with((parts) => parts.claims.peek(request));
  }

  expired(request: {
    expiredForMs: number;
    limit: number;
    after?: { leaseUntilMs: number; id: string };
  }): Promise<ExpiredLease[]> {
    return this.#with((parts) => parts.rescue.expired(request));
  }

  takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
    return this.#changing((parts) => parts.rescue.takeBack(decisions));
  }

  releaseBlocked(limit: number): Promise<number> {
    return this.#changing((parts) => parts.followed.releaseBlocked(limit));
  }

  retry(id: string): Promise<ControlOutcome> {
    return this.#changing((parts) => parts.control.retry(id));
  }

  retryBuried(request: { queue?: string; limit: number }): Promise<{ retried: number; duplicates: number }> {
    return this.#changing((parts) => parts.control.retryBuried(request));
  }

  bury(id: string): Promise<ControlOutcome> {
    return this.#changing((parts) => parts.control.stop(id, 'bury'));
  }

  cancel(id: string): Promise<ControlOutcome> {
    return this.#changing((parts) => parts.control.stop(id, 'cancel'));
  }

  delete(id: string): Promise<ControlOutcome> {
    return this.#changing((parts) => parts.control.stop(id, 'delete'));
  }

  edit(id: string, edit: JobEdit): Promise<ControlOutcome> {
    return this.#changing((parts) => parts.control.edit(id, edit));
  }

  changeMany(request: {
    change: ControlChange;
    ids: readonly string[];
    status?: JobStatus;
  }): Promise<ControlOutcome[]> {
    return this.#changing((parts) => parts.control.changeMany(request));
  }

  setPaused(queue: string, paused: boolean): Promise<void> {
    return this.#changing((parts) => parts.control.setPaused(queue, paused));
  }

  pausedQueues(): Promise<string[]> {
    return this.#with((parts) => parts.control.pausedQueues());
  }

  purge(request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  }): Promise<number> {
    return this.#with((parts) => parts.control.purge(request));
  }

  purgeTraces(request: { olderThanMs: number; limit: number }): Promise<number> {
    return this.#with((parts) => parts.control.purgeTraces(request));
  }

  job(id: string): Promise<JobRecord | null> {
    return this.#with((parts) => parts.inspector.job(id));
  }

  jobs(filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
    return this.#with((parts) => parts.inspector.jobs(filter, page));
  }

  ahead(id: string): Promise<number | null> {
    return this.#with((parts) => parts.inspector.ahead(id));
  }

  endings(ids: readonly string[]): Promise<JobEnding[]> {
    return this.#with((parts) => parts.inspector.endings(ids));
  }

  idsEndingIn(suffix: string): Promise<string[]> {
    return this.#with((parts) => parts.inspector.idsEndingIn(suffix));
  }

  stats(queue?: string): Promise<QueueStats[]> {
    return this.#with((parts) => parts.inspector.stats(queue));
  }

  queues(): Promise<string[]> {
    return this.#with((parts) => parts.inspector.queues());
  }

  limits(): Promise<LimitState[]> {
    return this.#with((parts) => parts.inspector.limits());
  }

  appendLog(lines: readonly NewLogLine[]): Promise<void> {
    return this.#with((parts) => parts.log.append(lines));
  }

  log(id: string, page: { after?: string; limit: number }): Promise<LogLine[]> {
    return this.#with((parts) => parts.log.page(id, page));
  }

  register(report: WorkerReport, aliveMs: number, ended: string | null = null): Promise<Registration> {
    return this.#with((parts) => parts.workers.register(report, aliveMs, ended));
  }

  heartbeat(report: WorkerReport, epoch?: number): Promise<HeartbeatAnswer> {
    return this.#with((parts) => parts.workers.heartbeat(report, epoch));
  }

  noteDisconnected(id: string, incarnation: string, epoch: number): Promise<boolean> {
    return this.#with((parts) => parts.workers.noteDisconnected(id, incarnation, epoch));
  }

  fleetOrders(): Promise<FleetOrders> {
    return this.#with((parts) => parts.workers.fleetOrders());
  }

  stopRequests(incarnations: readonly string[]): Promise<HeldLease[]> {
    return this.#with((parts) => parts.claims.stopRequests(incarnations));
  }

  addFile(addition: FileAddition): Promise<FileAdditionOutcome> {
    return this.#with((parts) => parts.files.add(addition));
  }

  files(jobId: string): Promise<FileRecord[]> {
    return this.#with((parts) => parts.files.ofJob(jobId));
  }

  file(id: string): Promise<FileRecord | null> {
    return this.#with((parts) => parts.files.one(id));
  }

  sweepFiles(request: { after: string | null; limit: number }): Promise<FileSweep> {
    return this.#with((parts) => parts.files.sweep(request));
  }

  keptContents(hashes: readonly string[]): Promise<string[]> {
    return this.#with((parts) => parts.files.kept(hashes));
  }

  fileStoreId(proposed: string | null): Promise<string | null> {
    return this.#with((parts) => parts.files.storeId(proposed));
  }

  hubBeat(hub: HubReport): Promise<void> {
    return this.#with((parts) => parts.hubs.beat(hub));
  }

  hubs(): Promise<HubRecord[]> {
    return this.#with((parts) => parts.hubs.list());
  }

  removeHub(id: string): Promise<void> {
    return this.#with((parts) => parts.hubs.remove(id));
  }

  orders(id: string): Promise<WorkerOrders> {
    return this.#with((parts) => parts.workers.orders(id));
  }

  unregister(id: string, incarnation: string): Promise<void> {
    return this.#with((parts) => parts.workers.unregister(id, incarnation));
  }

  workers(): Promise<WorkerRecord[]> {
    return this.#with((parts) => parts.workers.list());
  }

  changeWorker(id: string, change: WorkerChange, audit: NewAuditEntry): Promise<WorkerChangeOutcome> {
    return this.#with((parts) => parts.workers.change(id, change, audit));
  }

  forgetSilent(id: string, heartbeatAtMs: number): Promise<boolean> {
    return this.#with((parts) => parts.workers.forgetSilent(id, heartbeatAtMs));
  }

  audit(page: AuditPageRequest): Promise<AuditEntry[]> {
    return this.#with((parts) => parts.workers.audit(page));
  }

  noteAudit(entry: NewAuditEntry, result: string): Promise<void> {
    return this.#with((parts) => parts.workers.noteAudit(entry, result));
  }

  createToken(token: NewAccessToken, audit: NewAuditEntry): Promise<TokenCreation> {
    return this.#with((parts) => parts.tokens.create(token, audit));
  }

  token(id: string): Promise<AccessToken | null> {
    return this.#with((parts) => parts.tokens.one(id));
  }

  tokens(): Promise<AccessToken[]> {
    return this.#with((parts) => parts.tokens.list());
  }

  revokeToken(id: string, audit: NewAuditEntry): Promise<TokenRevocation> {
    return this.#with((parts) => parts.tokens.revoke(id, audit));
  }

  takeDuty(name: string, holder: string, ttlMs: number): Promise<boolean> {
    return this.#with((parts) => parts.duties.take(name, holder, ttlMs));
  }

  releaseDuty(name: string, holder: string): Promise<void> {
    return this.#with((parts) => parts.duties.release(name, holder));
  }

  noteProfiles(notes: readonly ProfileNote[]): Promise<void> {
    return this.#with((parts) => parts.profiles.note(notes));
  }

  profiles(names: readonly string[], windowMs: number): Promise<HandlerProfile[]> {
    return this.#with((parts) => parts.profiles.of(names, windowMs));
  }

  tidy(request: { settled: number; idle: boolean }): Promise<void> {
    return this.#with((parts) => parts.tidier.tidy(request));
  }

  watch(onWake: (queues: readonly string[] | null) => void): Promise<AsyncDisposable> {
    return this.#with((parts) => parts.notifier.watch(onWake));
  }

  async #connect(): Promise<void> {
    if (this.#options.migrate === 'auto') await this.migrate();
    const parts = partsOf(this.#options);
    try {
      await this.#checkServer(parts.context.connection);
      const found = await readSchema(parts.context.connection, this.#options.schema);
      checkSchema({ found, migrations: postgresMigrations(this.#options.schema) });
      parts.context.applied.version = found?.version ?? 0;
    } catch (error) {
      await close(parts);
      throw error;
    }
    this.#parts = parts;
    this.#isClosed = false;
  }

  get #open(): Parts {
    if (this.#parts !== null) return this.#parts;
    const got = this.#isClosed ? 'a call after close()' : 'a call before open()';
    throw new MillraceError('closed', `PostgreSQL storage: expected an open one, got ${got}`);
  }

  /** What may change which bounded jobs can be claimed: claims look anew. */
  async #changing<T>(call: (parts: Parts) => Promise<T>): Promise<T> {
    const parts = this.#open;
    try {
      return await call(parts);
    } finally {
      parts.claims.bounded.forget();
    }
  }

  async #with<T>(call: (parts: Parts) => Promise<T>): Promise<T> {
    return call(this.#open);
  }

  async #checkServer(connection: Session): Promise<void> {
    const [number, version] = (await connection.run(serverFacts))[0] ?? [];
    this.#server = `PostgreSQL ${textOf(version).split(' ')[0]}`;
    if (intOf(number) >= oldestServer) return;
    throw new MillraceError(
      'database-too-old',
      `database server: expected PostgreSQL 13 or newer, got ${this.#server}`,
      {
        details: { expected: 13, got: this.#server },
      },
    );
  }
}

interface Parts {
  readonly context: Context;
  readonly notifier: Notifier;
  readonly enqueuer: Enqueuer;
  readonly claims: Claims;
  readonly followed: Followed;
  readonly settler: Settler;
  readonly exchange: Exchange;
  readonly rescue: Rescue;
  readonly control: Control;
  readonly inspector: Inspector;
  readonly log: JobLog;
  readonly profiles: Profiles;
  readonly workers: Workers;
  readonly files: Files;
  readonly hubs: Hubs;
  readonly tokens: Tokens;
  readonly duties: Duties;
  readonly tidier: Tidier;
}

function partsOf(options: ResolvedPostgresOptions): Parts {
  const { url, logger, offsetMs } = options;
  const connection = new Connection(options);
  // A notification goes to a session, and behind a pooler there is none that is ours.
  const mayListen = (): boolean => !connection.isPooled;
  const notifier = new Notifier({ url, channel: options.schema, logger, mayListen });
  const context: Context = {
    connection,
    schema: quoted(options.schema),
    applied: { version: 0 },
    logger,
    offsetMs,
    wake: (queues) => notifier.wake(queues),
  };
  const claims = new Claims(context);
  const followed = new Followed(context);
  const settler = new Settler(context, claims.queries, followed);
  return {
    context,
    notifier,
    enqueuer: new Enqueuer(context),
    claims,
    followed,
    settler,
    exchange: new Exchange(context, claims, settler),
    rescue: new Rescue(context, followed),
    control: new Control(context, followed),
    inspector: new Inspector(context),
    log: new JobLog(context),
    profiles: new Profiles(context),
    workers: new Workers(context),
    files: new Files(context),
    hubs: new Hubs(context),
    tokens: new Tokens(context),
    duties: new Duties(context),
    tidier: new Tidier(context, options),
  };
}

async function close({ notifier, tidier, context }: Parts): Promise<void> {
  await Promise.allSettled([notifier.close(), tidier.close(), context.connection.close()]);
}
