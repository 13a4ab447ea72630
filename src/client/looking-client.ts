import type { LimitState } from '../storage/job-limit.js';
import type { QueueStats } from '../storage/job-record.js';
import type { ClientCore } from './client-core.js';
import { filesOf, openFile } from './files.js';
import type { JobsOptions, JobsPage, LogOptions } from './inspect.js';
import type { OpenedFile, StoredFile } from './job-files.js';
import type { Job, JobListing, JobLogLine } from './job-view.js';
import { explain, type Why } from './why.js';
import { explainWorker, type WhyWorker } from './why-worker.js';
import type { WorkerListing } from './worker-view.js';

/** What a client can look at. */
export abstract class LookingClient {
  readonly #core: ClientCore;

  protected constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Nothing that shows when the client is printed: the address of the database is in it. */
  protected get core(): ClientCore {
    return this.#core;
  }

  /** A job by its full id; null when there is none. */
  job(id: string): Promise<Job | null> {
    return this.core.inspector.job(id);
  }

  /** One page of jobs. */
  jobs(options?: JobsOptions): Promise<JobsPage> {
    return this.core.inspector.jobs(options);
  }

  /** All jobs, page by page: `for await (const job of millrace.eachJob({ status: 'buried' }))`. */
  eachJob(options?: JobsOptions): AsyncIterable<JobListing> {
    return this.core.inspector.eachJob(options);
  }

  /** The numbers of every queue, or of one. */
  stats(): Promise<QueueStats[]>;
  stats(queue: string): Promise<QueueStats>;
  stats(queue?: string): Promise<QueueStats[] | QueueStats> {
    const { inspector } = this.core;
    return queue === undefined ? inspector.stats() : inspector.queueStats(queue);
  }

  /** What runs and waits under limits now, by group and key; the first 1,000. */
  limits(): Promise<LimitState[]> {
    return this.core.inspector.limits();
  }

  /** The names of the queues that have jobs or are paused. */
  async queues(): Promise<string[]> {
    return (await this.core.inspector.stats()).map(({ queue }) => queue);
  }

  /** The files that are kept with a job, by name; none where there is no such job. */
  files(jobId: string): Promise<StoredFile[]> {
    return filesOf(this.core.files, jobId);
  }

  /**
   * A file by its id, to be read as it is used; null when there is none.
   *
   * @throws MillraceError `file-store-elsewhere` where the files of this database are on another machine
   *
   * @example
   * const opened = await millrace.file(id);
   * if (opened !== null) await writeFile(opened.file.name, opened.content);
   */
  file(id: string): Promise<OpenedFile | null> {
    return openFile(this.core.files, id);
  }

  /**
   * Why a job is where it is: not due, behind others, no worker for it, buried with what; each reason with its numbers
   * and the next moment at which it can change. Null when there is no such job.
   *
   * @example
   * const why = await millrace.why(handle.id);
   * for (const { sentence } of why?.reasons ?? []) console.log(sentence);
   */
  async why(id: string): Promise<Why | null> {
    const { access, settings } = this.core;
    return explain(await access.get(), id, settings);
  }

  /**
   * Why a worker gets no work, or that nothing stands in its way: drained, full, on standby, no handler for what waits, a
   * paused queue; each reason with its numbers. Null when no such worker is registered.
   */
  async whyWorker(id: string): Promise<WhyWorker | null> {
    const { access, settings } = this.core;
    return explainWorker(await access.get(), id, settings);
  }

  /** What the handler of a job logged, and its progress. */
  log(id: string, options?: LogOptions): Promise<JobLogLine[]> {
    return this.core.inspector.log(id, options);
  }

  /** The registered workers, of every process. */
  workers(): Promise<WorkerListing[]> {
    return this.core.inspector.workers();
  }
}
