import type { ErrorCode } from '../../internal/error-codes.js';
import { isMillraceError } from '../../internal/errors.js';
import type { LimitState } from '../../storage/job-limit.js';
import type { QueueStats } from '../../storage/job-record.js';
import type { ControlOutcome } from '../../storage/settlement.js';
import type { WorkerChangeOutcome } from '../../storage/worker-record.js';
import type { BulkEditOptions, BulkKind, BulkOptions, BulkReport } from '../bulk-control.js';
import { type ControlKind, type PurgeOptions, parseJobId, type RetryBuriedOptions } from '../control.js';
import { Definitions } from '../definitions.js';
import type { EditOptions } from '../edit-options.js';
import { parseFileId } from '../files.js';
import type { AuditOptions, AuditPage } from '../fleet-control.js';
import type { JobsOptions, JobsPage, LogOptions } from '../inspect.js';
import type { JobDefinition } from '../job-definition.js';
import type { OpenedFile, StoredFile } from '../job-files.js';
import { DispatchedJob, type HandlePorts, type JobHandle, type ResultOptions } from '../job-handle.js';
import type { BulkEntry, DispatchArgumentsOf, HandleOf, ResultOf, WaitArgumentsOf } from '../job-types.js';
import type { Job, JobListing, JobLogLine } from '../job-view.js';
import { abortedBeforeDispatch } from '../result-errors.js';
import { checkResultOptions } from '../result-waiter.js';
import { closedError } from '../storage-access.js';
import type { Why } from '../why.js';
import type { WhyWorker } from '../why-worker.js';
import type { WorkerListing } from '../worker-view.js';
import { HttpCalls } from './http-calls.js';
import { outcomeOf } from './http-control.js';
import { dispatchEntry, noTransaction } from './http-dispatch.js';
import { ownRepeat, sendMany } from './http-dispatch-many.js';
import { fileOf, openHttpFile } from './http-files.js';
import { type MillraceHttpOptions, resolveHttpOptions } from './http-options.js';
import { watchHttpProgress } from './http-progress.js';
import { waitForResult } from './http-result.js';
import { jobOf, listingOf, workerOf } from './http-views.js';

/** Only what a definition leaves open is decided by the hub's settings, so these are never seen. */
const unseenDefaults = { attempts: 3, retryBackoff: 'exponential', maxExecutionTimeMs: 300_000 } as const;

type Bulk = BulkOptions | BulkEditOptions;

/**
 * `Millrace` by the HTTP API of a hub: the same calls to dispatch, to look and to operate, without a database. What reads
 * and what dispatches is repeated while the hub can't be reached, a dispatch with the same id; other calls are made once.
 *
 * @example
 * const millrace = new MillraceHttp({ url: 'http://hub:8000', token: process.env.MILLRACE_TOKEN });
 * const handle = await millrace.dispatch(thumbnail, { file: 'cat.png', width: 320 });
 * await handle.result({ timeout: '1m' });
 */
export class MillraceHttp<const Jobs extends readonly JobDefinition[] = readonly JobDefinition[]>
  implements AsyncDisposable
{
  readonly #calls: HttpCalls;
  readonly #definitions: Definitions;
  readonly #ports: HandlePorts = {
    job: (id) => this.job(id),
    result: (id, options) => waitForResult(this.#calls, id, options),
    progress: (id, options) => watchHttpProgress(this.#calls, id, options),
    cancel: async (id, options) => {
      if (options?.tx !== undefined) throw noTransaction();
      return this.cancel(id);
    },
  };

  /** @throws MillraceError `option-unknown`, `option-invalid`, `job-name-duplicate` */
  constructor(options: MillraceHttpOptions<Jobs>) {
    const resolved = resolveHttpOptions(options);
    this.#definitions = new Definitions(resolved.jobs, unseenDefaults);
    this.#calls = new HttpCalls(resolved);
  }

  /** Ends calls on their way; later ones are refused. Idempotent. */
  close(): Promise<void> {
    this.#calls.close();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ── dispatch ──────────────────────────────────────────────────────────────────────────────────────────────────
  /**
   * Dispatches a job, by its definition or its name.
   *
   * @throws MillraceError as `Millrace.dispatch`, with the code of the hub; `hub-unreachable`, `unauthorized`, `forbidden`
   */
  async dispatch<const Target extends JobDefinition | string>(
    job: Target,
    ...[input, options]: DispatchArgumentsOf<Jobs, Target>
  ): Promise<HandleOf<Jobs, Target>> {
    if (this.#calls.isClosed) throw closedError();
    const entry = await dispatchEntry(this.#definitions, job, { input, options });
    const { body, repeats } = await this.#calls.send({
      method: 'POST',
      path: '/jobs',
      body: entry.text,
      isRepeatable: true,
    });
    const { id, deduplicated } = ownRepeat(body, entry.id, repeats);
    return new DispatchedJob(this.#ports, id, deduplicated) as HandleOf<Jobs, Target>;
  }

  /** Dispatches many jobs, up to 1,000 or 2 MB a request. All are checked here before the first is sent. */
  async dispatchMany<const Targets extends readonly (JobDefinition | string)[]>(
    entries: {
      readonly [Index in keyof Targets]: BulkEntry<Jobs, Targets[Index]>;
    },
  ): Promise<{ -readonly [Index in keyof Targets]: HandleOf<Jobs, Targets[Index]> }> {
    if (this.#calls.isClosed) throw closedError();
    const given = entries as readonly { job: JobDefinition | string; input?: unknown; options?: object }[];
    const jobs = await Promise.all(
      given.map(({ job, input, options }) => dispatchEntry(this.#definitions, job, { input, options })),
    );
    const answers = await sendMany(this.#calls, jobs);
    return answers.map(({ id, deduplicated }) => new DispatchedJob(this.#ports, id, deduplicated)) as never;
  }

  /** Dispatches a job and waits for its result. When the waiting ends without one, the job goes on. */
  async dispatchAndWait<const Target extends JobDefinition | string>(
    job: Target,
    ...[input, options]: WaitArgumentsOf<Jobs, Target>
  ): Promise<ResultOf<Jobs, Target>> {
    const { timeout, signal, ...dispatchOptions } = (options ?? {}) as ResultOptions;
    const waiting = { timeout, signal };
    checkResultOptions(waiting);
    if (signal?.aborted === true) throw abortedBeforeDispatch(signal);
    const handle = await this.dispatch(job, ...([input, dispatchOptions] as never));
    return (await handle.result(waiting)) as ResultOf<Jobs, Target>;
  }

  // ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────
  /** A job by its full id; null when there is none. */
  async job(id: string): Promise<Job | null> {
    const told = await this.#orNull(`/jobs/${parseJobId(id)}`, 'job-not-found');
    return told === null ? null : jobOf(told);
  }

  /** The handle of a job that was dispatched before, by its full id. */
  handle(id: string): JobHandle;
  handle<const Target extends JobDefinition | string>(id: string, job: Target): HandleOf<Jobs, Target>;
  handle(id: string, job?: JobDefinition | string): JobHandle {
    if (this.#calls.isClosed) throw closedError();
    if (job !== undefined) this.#definitions.find(job);
    return new DispatchedJob(this.#ports, parseJobId(id), true);
  }

  /** One page of jobs. */
  async jobs(options: JobsOptions = {}): Promise<JobsPage> {
    const told = await this.#get('/jobs', { ...options });
    return { jobs: told.jobs.map(listingOf), next: told.next };
  }

  /** All jobs, page by page. */
  async *eachJob(options: JobsOptions = {}): AsyncGenerator<JobListing, void, undefined> {
    let { cursor } = options;
    do {
      const page: JobsPage = await this.jobs({ limit: 1_000, ...options, cursor });
      yield* page.jobs;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  /** The numbers of every queue, or of one. */
  stats(): Promise<QueueStats[]>;
  stats(queue: string): Promise<QueueStats>;
  async stats(queue?: string): Promise<QueueStats[] | QueueStats> {
    const { queues } = await this.#get('/stats', { queue });
    return queue === undefined ? queues : queues[0];
  }

  async limits(): Promise<LimitState[]> {
    return (await this.#get('/limits')).limits;
  }

  /** The names of the queues that have jobs or are paused. */
  async queues(): Promise<string[]> {
    return (await this.stats()).map(({ queue }) => queue);
  }

  /** The files that are kept with a job, by name; none where there is no such job. */
  async files(jobId: string): Promise<StoredFile[]> {
    const told = await this.#orNull(`/jobs/${parseJobId(jobId)}/files`, 'job-not-found');
    return told === null ? [] : told.files.map(fileOf);
  }

  /** A file by its id, to be read as it is used; null when there is none. */
  async file(id: string): Promise<OpenedFile | null> {
    const fileId = parseFileId(id);
    return await orNull('file-not-found', () => openHttpFile(this.#calls, fileId));
  }

  /** Why a job is where it is; null when there is no such job. */
  async why(id: string): Promise<Why | null> {
    const told = await this.#orNull(`/jobs/${parseJobId(id)}/why`, 'job-not-found');
    if (told === null) return null;
    const reasons = told.reasons.map((reason: { nextChangeAt: string | null }) => ({
      ...reason,
      nextChangeAt: reason.nextChangeAt === null ? null : new Date(reason.nextChangeAt),
    }));
    return { job: jobOf(told.job), reasons };
  }

  /** Why a worker gets no work; null when no such worker is registered. */
  async whyWorker(id: string): Promise<WhyWorker | null> {
    const told = await this.#orNull(`${workerPath(id)}/why`, 'worker-not-found');
    return told === null ? null : { worker: workerOf(told.worker), reasons: told.reasons };
  }

  /** What the handler of a job logged, and its progress. */
  async log(id: string, options: LogOptions = {}): Promise<JobLogLine[]> {
    const { lines } = await this.#get(`/jobs/${parseJobId(id)}/log`, { ...options });
    return lines.map((line: { at: string }) => ({ ...line, at: new Date(line.at) }));
  }

  /** The registered workers, of every process. */
  async workers(): Promise<WorkerListing[]> {
    return (await this.#get('/workers')).workers.map(workerOf);
  }

  // ── operators ─────────────────────────────────────────────────────────────────────────────────────────────────
  retry(id: string): Promise<ControlOutcome> {
    return this.#control('retry', id);
  }

  bury(id: string): Promise<ControlOutcome> {
    return this.#control('bury', id);
  }

  cancel(id: string): Promise<ControlOutcome> {
    return this.#control('cancel', id);
  }

  delete(id: string): Promise<ControlOutcome> {
    return this.#control('delete', id);
  }

  /** Changes a job that waits. */
  async edit(id: string, options: EditOptions): Promise<ControlOutcome> {
    const path = `/jobs/${parseJobId(id)}`;
    return outcomeOf(this.#calls, { method: 'PATCH', path, body: JSON.stringify(options) });
  }

  retryMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('retry', options);
  }

  cancelMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('cancel', options);
  }

  buryMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('bury', options);
  }

  deleteMany(options: BulkOptions): Promise<BulkReport> {
    return this.#changeWhere('delete', options);
  }

  editMany(options: BulkEditOptions): Promise<BulkReport> {
    return this.#changeWhere('edit', options);
  }

  /** Retries every buried job, of one queue or of all. */
  async retryBuried({ queue }: RetryBuriedOptions = {}): Promise<{ retried: number; duplicates: number }> {
    const sum = { retried: 0, duplicates: 0 };
    for (const name of queue === undefined ? await this.queues() : [queue]) {
      const told = await this.#post(`/queues/${encodeURIComponent(name)}/retry-buried`);
      sum.retried += told.retried;
      sum.duplicates += told.duplicates;
    }
    return sum;
  }

  async pause(queue: string): Promise<void> {
    await this.#post(`/queues/${encodeURIComponent(queue)}/pause`);
  }

  async resume(queue: string): Promise<void> {
    await this.#post(`/queues/${encodeURIComponent(queue)}/resume`);
  }

  async isPaused(queue: string): Promise<boolean> {
    return (await this.stats(queue)).paused;
  }

  /** Deletes jobs that ended long ago; returns how many. */
  async purge(options: PurgeOptions = {}): Promise<number> {
    return (await this.#post('/purge', options)).purged;
  }

  drainWorker(id: string): Promise<WorkerChangeOutcome> {
    return this.#setAdminState(id, 'drain');
  }

  activateWorker(id: string): Promise<WorkerChangeOutcome> {
    return this.#setAdminState(id, 'active');
  }

  standbyWorker(id: string): Promise<WorkerChangeOutcome> {
    return this.#setAdminState(id, 'standby');
  }

  recycleWorker(id: string): Promise<WorkerChangeOutcome> {
    return outcomeOf(this.#calls, { method: 'POST', path: `${workerPath(id)}/recycle` });
  }

  forgetWorker(id: string): Promise<WorkerChangeOutcome> {
    return outcomeOf(this.#calls, { method: 'DELETE', path: workerPath(id) });
  }

  /** What operators did, and what came of it. */
  async audit(options: AuditOptions = {}): Promise<AuditPage> {
    const { entries, next } = await this.#get('/audit', { ...options });
    return { entries: entries.map((entry: { at: string }) => ({ ...entry, at: new Date(entry.at) })), next };
  }

  async #get(path: string, query?: Readonly<Record<string, unknown>>) {
    return (await this.#calls.send({ method: 'GET', path, query })).body;
  }

  async #post(path: string, body?: object) {
    return (await this.#calls.send({ method: 'POST', path, body: JSON.stringify(body ?? {}) })).body;
  }

  async #orNull(path: string, code: 'job-not-found' | 'worker-not-found') {
    return await orNull(code, () => this.#get(path));
  }

  async #control(kind: ControlKind, id: string): Promise<ControlOutcome> {
    const path = `/jobs/${parseJobId(id)}`;
    return kind === 'delete'
      ? outcomeOf(this.#calls, { method: 'DELETE', path })
      : outcomeOf(this.#calls, { method: 'POST', path: `${path}/${kind}` });
  }

  async #changeWhere(kind: BulkKind, options: Bulk): Promise<BulkReport> {
    const told = await this.#post(`/jobs/${kind}`, options);
    return { ...told, sample: told.sample.map(listingOf) };
  }

  #setAdminState(id: string, adminState: 'drain' | 'active' | 'standby'): Promise<WorkerChangeOutcome> {
    return outcomeOf(this.#calls, {
      method: 'PATCH',
      path: workerPath(id),
      body: JSON.stringify({ adminState }),
    });
  }
}

const workerPath = (id: string): string => `/workers/${encodeURIComponent(id)}`;

async function orNull<T>(code: ErrorCode, call: () => Promise<T>): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (isMillraceError(error) && error.code === code) return null;
    throw error;
  }
}
