import type { Logger } from '../internal/logger.js';
import type { SettingValues } from '../internal/settings.js';
import type { EventListener, TypedEvents } from '../internal/typed-events.js';
import { version } from '../internal/version.js';
import { type RescueReport, Rescuer } from '../maintenance/rescuer.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import type { ControlOutcome } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';
import type { WorkerHost } from '../worker/host.js';
import { runNow, runnableHere } from '../worker/run-now.js';
import type { RunReport, TickReport } from '../worker/run-report.js';
import { type FlushOptions, flush, type TickOptions, tick } from '../worker/tick.js';
import { Worker } from '../worker/worker.js';
import type { WorkerOptions } from '../worker/worker-options.js';
import { ClientCore } from './client-core.js';
import {
  type ControlKind,
  editSync,
  parseJobId,
  parseTransactionOption,
  type SyncTransactionOption,
  type TransactionOption,
} from './control.js';
import type { ForeignFacts } from './dispatch.js';
import { type DispatchEntry, dispatchMany, dispatchManySync, dispatchManyWithin } from './dispatch-many.js';
import { dispatchOver } from './dispatch-over.js';
import { dispatchSync, openStorage, txOf, waitWithin } from './dispatch-within.js';
import { type EditOptions, resolveEdit } from './edit-options.js';
import type { EventName, MillraceEvents } from './events.js';
import type { JobDefinition, RunnableJob } from './job-definition.js';
import { DispatchedJob, type JobHandle, type ResultOptions } from './job-handle.js';
import type {
  BulkEntry,
  DispatchArgumentsOf,
  HandleOf,
  InputOf,
  OutputOfJob,
  Resolved,
  ResultOf,
  SyncDispatchArgumentsOf,
  WaitArgumentsOf,
} from './job-types.js';
import type { Jsonified } from './jsonified.js';
import { offerToLane } from './lane-child.js';
import { type MillraceOptions, resolveOptions } from './millrace-options.js';
import { OperatingClient } from './operating-client.js';
import { abortedBeforeDispatch } from './result-errors.js';
import { checkResultOptions } from './result-waiter.js';
import { closedError } from './storage-access.js';
import { reopenable, workerSettings } from './worker-host.js';

/** What the parts around a client build on: commands, workers, a hub. */
export interface MillraceInternals {
  readonly files: FileKeeper;
  storage(): Promise<Storage>;
  /** The jobs that can run here. */
  readonly definitions: ReadonlyMap<string, RunnableJob>;
  readonly settings: SettingValues;
  readonly logger: Logger;
  readonly events: TypedEvents<MillraceEvents>;
  /** Dispatches on behalf of a client elsewhere, which knows more of its jobs than options can say. */
  dispatchFor(entry: ForeignEntry): Promise<JobHandle>;
  dispatchManyFor(entries: readonly ForeignEntry[]): Promise<JobHandle[]>;
}

/** A job of a client elsewhere. */
export interface ForeignEntry extends ForeignFacts {
  readonly name: string;
  readonly input: unknown;
  readonly options: object;
}

/**
 * The jobs of an application, in one database. Opens on first use; starts nothing by itself.
 *
 * @example
 * await using millrace = new Millrace({ database: 'sqlite:millrace.db', jobs: [greet] });
 * const handle = await millrace.dispatch(greet, { name: 'Ada' });
 */
export class Millrace<const Jobs extends readonly JobDefinition[] = readonly JobDefinition[]>
  extends OperatingClient
  implements AsyncDisposable
{
  /** Weak: a worker that was stopped and forgotten need not stay; one that runs is held by what it runs on. */
  readonly #workers = new Set<WeakRef<Worker>>();
  #isClosed = false;

  /** @throws MillraceError listing every problem: `option-unknown`, `option-invalid`, `settings-invalid`, `database-url-invalid`, `job-name-duplicate` */
  constructor(options: MillraceOptions<Jobs> = {}) {
    super(new ClientCore(resolveOptions(options, process.env)));
    offerToLane(this.core);
  }

  /** Opens the database now, to learn early of what is wrong with it. */
  async open(): Promise<void> {
    await this.core.access.get();
  }

  /** Ends what this client started: its workers, its dispatches on the way, its storage. Idempotent. */
  async close(): Promise<void> {
    // At once for the caller; handlers that still run may dispatch until their workers have stopped.
    this.#isClosed = true;
    await Promise.all([...this.#workers].map((worker) => worker.deref()?.stop()));
    await this.core.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ── dispatch ──────────────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Dispatches a job, by its definition or its name. While the database can't be reached it is repeated, with the same
   * id, for `dispatchTimeout`.
   *
   * @throws MillraceError `payload-invalid`, `payload-too-large`, `option-unknown`, `option-invalid`,
   *   `job-name-unknown`, `idempotency-conflict`, `parent-not-found`, `deadline-exceeded`, and those of the database
   */
  dispatch<const Target extends JobDefinition | string>(
    job: Target,
    ...[input, options]: DispatchArgumentsOf<Jobs, Target>
  ): Promise<HandleOf<Jobs, Target>> {
    if (this.#isClosed) return Promise.reject(closedError());
    return this.core.dispatcher.dispatch(job, input, options) as Promise<HandleOf<Jobs, Target>>;
  }

  /**
   * Dispatches many jobs, 1,000 a statement; handles come in the order of the entries. `after` may name other jobs of
   * the call, by an `id` made with `newJobId()`, in any order. All are checked before the first is written; it is not
   * one transaction, unless it is given yours as `tx`.
   *
   * @throws MillraceError as `dispatch`, telling which entries; `dependency-cycle`
   */
  dispatchMany<const Targets extends readonly (JobDefinition | string)[]>(
    entries: {
      readonly [Index in keyof Targets]: BulkEntry<Jobs, Targets[Index]>;
    },
    options?: TransactionOption,
  ): Promise<{ -readonly [Index in keyof Targets]: HandleOf<Jobs, Targets[Index]> }> {
    if (this.#isClosed) return Promise.reject(closedError());
    return this.core.track(this.#dispatchMany(entries as never, options)) as never;
  }

  /**
   * Dispatches a job and waits for its result. When the waiting ends without one, the job goes on; the error names its
   * id in `details`.
   *
   * @throws MillraceError as `dispatch` and as `handle.result`
   */
  async dispatchAndWait<const Target extends JobDefinition | string>(
    job: Target,
    ...[input, options]: WaitArgumentsOf<Jobs, Target>
  ): Promise<ResultOf<Jobs, Target>> {
    const { timeout, signal, ...dispatchOptions } = (options ?? {}) as ResultOptions;
    const waiting = { timeout, signal };
    checkResultOptions(waiting);
    if (txOf(dispatchOptions) !== undefined) throw waitWithin();
    if (signal?.aborted === true) throw abortedBeforeDispatch(signal);
    const handle = await this.dispatch(job, ...([input, dispatchOptions] as never));
    return (await handle.result(waiting)) as ResultOf<Jobs, Target>;
  }

  /**
   * Runs one attempt of a job here and now, by the code of a worker but without storage, and returns its result.
   *
   * @throws MillraceError `job-failed` with the failure as its cause, `job-cancelled`, `payload-invalid`, `handler-not-inline`
   */
  async runNow<const Target extends JobDefinition | string>(
    job: Target,
    ...[input]: undefined extends InputOf<Resolved<Jobs, Target>>
      ? [input?: InputOf<Resolved<Jobs, Target>>]
      : [input: InputOf<Resolved<Jobs, Target>>]
  ): Promise<Jsonified<OutputOfJob<Resolved<Jobs, Target>>>> {
    const { definitions, settings, logger } = this.core;
    const runnable = runnableHere(job, definitions.runnableOf(job));
    const { maxPayloadBytes, killGraceMs } = settings;
    const result = await runNow(runnable, input, {
      logger,
      dispatch: this.#dispatchFromHandler,
      maxPayloadBytes,
      killGraceMs,
    });
    return result as Jsonified<OutputOfJob<Resolved<Jobs, Target>>>;
  }

  // ── inside a transaction whose statements are not awaited ─────────────────────────────────────────────────────
  /**
   * `dispatch` for a better-sqlite3 database that is in a transaction, or a transaction of Drizzle on it: it is written
   * when this returns. The client must be open (`await millrace.open()`), and a schema must answer at once.
   *
   * @throws MillraceError as `dispatch`; `tx-invalid`, `tx-aborted`, `closed` before `open`
   *
   * @example
   * database.transaction(() => {
   *   addOrder.run(order);
   *   millrace.dispatchSync(confirm, { order: order.id }, { tx: database });
   * })();
   */
  dispatchSync<const Target extends JobDefinition | string>(
    job: Target,
    ...[input, options]: SyncDispatchArgumentsOf<Jobs, Target>
  ): HandleOf<Jobs, Target> {
    if (this.#isClosed) throw closedError();
    const { dispatcher, access } = this.core;
    return dispatchSync(dispatcher, access, [job, input, options]) as HandleOf<Jobs, Target>;
  }

  /** `dispatchMany` in the same way. */
  dispatchManySync<const Targets extends readonly (JobDefinition | string)[]>(
    entries: { readonly [Index in keyof Targets]: BulkEntry<Jobs, Targets[Index]> },
    options: SyncTransactionOption,
  ): { -readonly [Index in keyof Targets]: HandleOf<Jobs, Targets[Index]> } {
    if (this.#isClosed) throw closedError();
    const { dispatcher, access } = this.core;
    const tx = parseTransactionOption('dispatchManySync', options);
    return dispatchManySync(entries as never, { dispatcher, access, tx }) as never;
  }

  /** `retry`, `bury`, `cancel` or `delete` in the same way. */
  controlSync(kind: ControlKind, id: string, options: SyncTransactionOption): ControlOutcome {
    if (this.#isClosed) throw closedError();
    const jobId = parseJobId(id);
    const tx = parseTransactionOption('controlSync', options);
    return openStorage(this.core.access).withinSync(tx).change({ kind }, jobId);
  }

  /**
   * `edit` in the same way. A new input needs a schema that answers at once, where this client knows the job.
   *
   * @throws MillraceError as `edit`; `tx-invalid`, `tx-aborted`, `closed` before `open`
   */
  editSync(id: string, options: EditOptions, within: SyncTransactionOption): ControlOutcome {
    if (this.#isClosed) throw closedError();
    const jobId = parseJobId(id);
    const tx = parseTransactionOption('editSync', within);
    const edit = resolveEdit(options);
    const queue = openStorage(this.core.access).withinSync(tx);
    return editSync(queue, { id: jobId, edit, context: this.editContext });
  }

  /**
   * The handle of a job that was dispatched before, here or elsewhere, by its full id: to wait for its result or to cancel
   * it. Nothing is looked up yet. Given the job as well, as a definition or a name, the result has its type.
   *
   * @example
   * await millrace.handle(id, thumbnail).result({ timeout: '1m' });
   *
   * @throws MillraceError `option-invalid` for what is no id, `job-name-unknown`
   */
  handle(id: string): JobHandle;
  handle<const Target extends JobDefinition | string>(id: string, job: Target): HandleOf<Jobs, Target>;
  handle(id: string, job?: JobDefinition | string): JobHandle {
    if (this.#isClosed) throw closedError();
    if (job !== undefined) this.core.definitions.find(job);
    return new DispatchedJob(this.core.handles, parseJobId(id), true);
  }

  /**
   * Takes back leases that expired, on evidence that their holders are gone; `force` takes every expired one, so a job
   * whose worker only lost sight of the database may run twice.
   */
  async recover({ force = false }: { readonly force?: boolean } = {}): Promise<RescueReport> {
    const { access, settings, logger } = this.core;
    const storage = await access.get();
    const monotonic = (): number => performance.now();
    const { staleTimeoutMs: leaseMs } = settings;
    return new Rescuer({ storage, leaseMs, logger, random: Math.random, monotonic }).sweep({ force });
  }

  // ── workers and events ────────────────────────────────────────────────────────────────────────────────────────
  /** A worker in this process; `await worker.start()` starts it. It is stopped with the client at the latest. */
  worker(options: WorkerOptions = {}): Worker {
    const { settings } = this.core;
    const { queue: queues, concurrency, processLanes, browserLanes, labels, hubUrl: hub } = settings;
    const host = this.#workerHost((options.browserLanes ?? browserLanes) !== 0);
    if (host.definitions.size === 0) {
      host.logger.warn('this worker knows no jobs, so it will run none: pass them as `jobs` to the client');
    }
    const worker = new Worker(host, {
      ...{ queues, concurrency, processLanes, browserLanes, labels, hub, token: settings.workerSecret },
      ...options,
    });
    for (const known of this.#workers) if (known.deref() === undefined) this.#workers.delete(known);
    this.#workers.add(new WeakRef(worker));
    return worker;
  }

  /**
   * Runs everything that is due in these queues, also what becomes due meanwhile, and resolves when nothing is left that
   * could run now: no retry and no delayed job is waited for, nor what a limit or a lack of memory holds back. The signal
   * ends it as stopping a worker does.
   *
   * @param queues as for `worker`. @default setting `queue`, 'default'
   * @throws MillraceError `database-unreachable` when it can't begin; what is lost later is waited for
   */
  async flush(queues?: WorkerOptions['queues'], options: FlushOptions = {}): Promise<RunReport> {
    await this.core.access.get();
    const { signal, ...rest } = options;
    return flush(this.#boundedWorker({ ...(queues === undefined ? {} : { queues }), ...rest }), signal);
  }

  /**
   * For sites without a worker, called each minute by cron or a serverless endpoint: takes back what workers that are gone
   * had begun, then runs what is due, within a budget of time. What could not end in it is not started; what has not ended
   * by then is put back uncharged. Ticks may overlap.
   *
   * @throws MillraceError `database-unreachable`, `deadline-exceeded`
   */
  tick(options: TickOptions = {}): Promise<TickReport> {
    const recover = (): Promise<RescueReport> => this.recover();
    return tick({ recover, createWorker: (given) => this.#boundedWorker(given) }, options);
  }

  /** Listens; the answer ends that. A listener that throws is logged and disturbs nothing. */
  on<Name extends EventName>(name: Name, listener: EventListener<MillraceEvents[Name]>): () => void {
    return this.core.events.on(name, listener);
  }

  off<Name extends EventName>(name: Name, listener: EventListener<MillraceEvents[Name]>): void {
    this.core.events.off(name, listener);
  }

  /** For what is built around a client; may change with any version. */
  get internals(): MillraceInternals {
    const { access, definitions, settings, logger, events, dispatcher, files } = this.core;
    return {
      storage: () => access.get(),
      definitions: definitions.runnable,
      settings,
      logger,
      events,
      files,
      dispatchFor: ({ name, input, options, ...facts }) =>
        this.#isClosed ? Promise.reject(closedError()) : dispatcher.dispatch(name, input, options, facts),
      dispatchManyFor: (entries) => this.#dispatchManyFor(entries),
    };
  }

  /** A run with an end begins with what only the database can tell. */
  #boundedWorker(options: WorkerOptions): Worker {
    return this.worker({ ...options, hub: 'none' });
  }

  async #dispatchMany(entries: readonly DispatchEntry[], given?: TransactionOption): Promise<JobHandle[]> {
    const { access, dispatcher, options } = this.core;
    const tx = parseTransactionOption('dispatchMany', given);
    if (tx !== undefined) return dispatchManyWithin(entries, { access, dispatcher, tx });
    const timeoutMs = options.dispatchTimeoutMs;
    return dispatchMany(entries, { access, dispatcher, timeoutMs, random: Math.random });
  }

  #dispatchManyFor(entries: readonly ForeignEntry[]): Promise<JobHandle[]> {
    if (this.#isClosed) return Promise.reject(closedError());
    const jobs = entries.map(({ name, input, options, ...facts }) => ({ job: name, input, options, facts }));
    return this.core.track(this.#dispatchMany(jobs));
  }

  #workerHost(hasBrowser: boolean): WorkerHost {
    const { definitions } = this.core;
    return {
      ...this.internals,
      definitions: hasBrowser ? definitions.runnableWithBuiltIns() : definitions.runnable,
      database: reopenable(this.core),
      dispatch: this.#dispatchFromHandler,
      dispatchOver: (storage) => dispatchOver(this.core, storage) as WorkerHost['dispatch'],
      loadBrowserKind: async () => (await import('../browser/index.js')).browserKind,
      settings: workerSettings(this.core.settings),
      version,
    };
  }

  readonly #dispatchFromHandler: WorkerHost['dispatch'] = (job, input, options) =>
    this.core.dispatcher.dispatch(job, input, options);
}
