import { parseQueueName } from '../core/queue-name.js';
import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import type { SettingValues } from '../internal/settings.js';
import type { LimitState } from '../storage/job-limit.js';
import type { QueueStats } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';
import { parseJobId } from './control.js';
import { surroundingsOf } from './job-surroundings.js';
import { type Job, type JobListing, type JobLogLine, toJob, toListing, toLogLine } from './job-view.js';
import { filterOf, type JobsWhere, type ResolvedWhere, resolveWhere, whereKeys } from './jobs-where.js';
import { OptionProblems } from './option-problems.js';
import { toWorkerListing, type WorkerListing } from './worker-view.js';

export interface JobsOptions extends JobsWhere {
  /** Jobs a page, 1 … 1000. @default 50 */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

export interface JobsPage {
  /**
   * Processing, pending, blocked, buried, cancelled, completed ones; pending in their order of claim, else newest first.
   * With a tag newest first, whatever the status.
   */
  readonly jobs: readonly JobListing[];
  /** Where the next page begins; null on the last one. A page may be short and still not be the last. */
  readonly next: string | null;
}

export interface LogOptions {
  /** `cursor` of the last line seen. */
  readonly after?: string | undefined;
  /** 1 … 1000. @default 1000 */
  readonly limit?: number | undefined;
}

const defaultPage = 50;
const largestPage = 1000;

/** Looking at jobs, queues and workers. */
export class Inspector {
  readonly #storage: () => Promise<Storage>;
  readonly #settings: SettingValues;

  constructor(storage: () => Promise<Storage>, settings: SettingValues) {
    this.#storage = storage;
    this.#settings = settings;
  }

  async job(id: string): Promise<Job | null> {
    const jobId = parseJobId(id);
    const storage = await this.#storage();
    const record = await storage.job(jobId);
    return record === null ? null : toJob(record, await surroundingsOf(storage, record));
  }

  async jobs(options: JobsOptions = {}): Promise<JobsPage> {
    const { where, limit, cursor } = resolveJobs(options);
    const storage = await this.#storage();
    const filter = await filterOf(where, () => storage.now());
    const page = await storage.jobs(filter, { limit, ...(cursor === undefined ? {} : { cursor }) });
    return { jobs: page.jobs.map(toListing), next: page.next };
  }

  /** Every job of the filter, page by page. What changes its status on the way may show up twice or not at all. */
  async *eachJob(options: JobsOptions = {}): AsyncGenerator<JobListing, void, undefined> {
    let cursor = options.cursor;
    do {
      const page: JobsPage = await this.jobs({ limit: largestPage, ...options, cursor });
      yield* page.jobs;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  async stats(): Promise<QueueStats[]> {
    return (await this.#storage()).stats();
  }

  async queueStats(queue: string): Promise<QueueStats> {
    const name = parseQueueName(queue);
    const [stats] = await (await this.#storage()).stats(name);
    if (stats === undefined)
      throw new MillraceError('internal', `storage answered nothing about queue "${name}"`);
    return stats;
  }

  async limits(): Promise<LimitState[]> {
    return (await this.#storage()).limits();
  }

  async workers(): Promise<WorkerListing[]> {
    const records = await (await this.#storage()).workers();
    return records.map((record) => toWorkerListing(record, this.#settings));
  }

  async log(id: string, options: LogOptions = {}): Promise<JobLogLine[]> {
    const jobId = parseJobId(id);
    const problems = new OptionProblems('options of log');
    const given = problems.takeObject(options);
    problems.checkKeys(given, ['after', 'limit']);
    const limit = limitOption(given['limit'] ?? largestPage, problems);
    const after = textOption('after', given['after'], problems);
    problems.throwIfAny();
    const lines = await (await this.#storage()).log(jobId, {
      limit,
      ...(after === undefined ? {} : { after }),
    });
    return lines.map(toLogLine);
  }
}

function resolveJobs(options: unknown): { where: ResolvedWhere; limit: number; cursor: string | undefined } {
  const problems = new OptionProblems('options of jobs');
  const given = problems.takeObject(options);
  problems.checkKeys(given, [...whereKeys, 'limit', 'cursor']);
  const where = resolveWhere(given, problems);
  const limit = limitOption(given['limit'] ?? defaultPage, problems);
  const cursor = textOption('cursor', given['cursor'], problems);
  problems.throwIfAny();
  return { where, limit, cursor };
}

function limitOption(value: unknown, problems: OptionProblems): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= largestPage)
    return value;
  problems.add(
    `option "limit": expected a whole number from 1 to ${largestPage}, got ${describeValue(value)}`,
  );
  return defaultPage;
}

function textOption(name: string, value: unknown, problems: OptionProblems): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  problems.add(`option "${name}": expected what a page before had returned, got ${describeValue(value)}`);
  return undefined;
}
