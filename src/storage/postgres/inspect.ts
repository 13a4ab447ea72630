import { isUuid } from '../../internal/uuid.js';
import type { LimitState } from '../job-limit.js';
import type { JobEnding, JobFilter, JobPage, JobPageRequest, JobRecord, QueueStats } from '../job-record.js';
import { textArray, uuidArray } from './arrays.js';
import { boundsOf } from './bounds.js';
import { isAloneLine, statusOf, stopOf } from './codes.js';
import type { Context } from './context.js';
import { JobLister } from './job-lister.js';
import { summaryColumns, summaryOf } from './job-summary.js';
import { type InspectQueries, inspectQueries } from './queries/inspect.js';
import { type LimitQueries, limitQueries } from './queries/limits.js';
import { boolOf, intOf, intOrNull, type Row, textOf } from './statement.js';

const newestFinal = 10_000;

export class Inspector {
  readonly #context: Context;
  readonly #queries: InspectQueries;
  readonly #limits: LimitQueries;
  readonly #lister: JobLister;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = inspectQueries(context.schema);
    this.#limits = limitQueries(context.schema);
    this.#lister = new JobLister(context, this.#queries);
  }

  async job(id: string): Promise<JobRecord | null> {
    if (!isUuid(id)) return null;
    const [row] = await this.#context.connection.run(this.#queries.job, [id]);
    return row === undefined ? null : recordOf(row);
  }

  jobs(filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
    return this.#lister.page(filter, page);
  }

  async ahead(id: string): Promise<number | null> {
    if (!isUuid(id)) return null;
    const [row] = await this.#context.connection.run(this.#queries.ahead, [id, this.#context.offsetMs()]);
    return row === undefined ? null : intOf(row[0]);
  }

  async endings(ids: readonly string[]): Promise<JobEnding[]> {
    const known = ids.filter(isUuid);
    if (known.length === 0) return [];
    const rows = await this.#context.connection.run(this.#queries.endings, [uuidArray(known)]);
    return rows.map(([id, status, result, errors, reason]) => ({
      id: textOf(id),
      status: statusOf(intOf(status)),
      result: result ?? null,
      errors: errors ?? null,
      reason: reason ?? null,
    }));
  }

  async idsEndingIn(suffix: string): Promise<string[]> {
    const text = suffix.toLowerCase();
    if (!/^[0-9a-f-]{6,36}$/.test(text)) return [];
    const rows = await this.#context.connection.run(this.#queries.endingIn, [`%${text}`, newestFinal]);
    return rows.map(([id]) => textOf(id));
  }

  async queues(): Promise<string[]> {
    const rows = await this.#context.connection.run(this.#queries.knownQueues);
    return rows.map(([queue]) => textOf(queue)).sort();
  }

  async limits(): Promise<LimitState[]> {
    return (await this.#context.connection.run(this.#limits.limits)).map(limitState);
  }

  async stats(queue?: string): Promise<QueueStats[]> {
    const { connection, offsetMs } = this.#context;
    const queues = queue === undefined ? await this.#lister.queues() : [queue];
    const rows = await connection.run(this.#queries.stats, [textArray(queues), offsetMs()]);
    return rows.map(statsOf);
  }
}

function limitState([group, key, max, running, cost, waiting]: Row): LimitState {
  return {
    group: textOf(group),
    key: key ?? null,
    max: intOrNull(max),
    running: intOf(running),
    runningCost: intOf(cost),
    waiting: intOf(waiting),
  };
}

function recordOf(row: Row): JobRecord {
  const summary = summaryOf(row);
  const [
    version,
    payload,
    result,
    errors,
    outcome,
    reason,
    stop,
    leaseUntil,
    started,
    lapses,
    line,
    uniqueKey,
    retention,
    terms,
    parents,
  ] = row.slice(summaryColumns);
  return {
    ...summary,
    payload: textOf(payload),
    version: intOf(version),
    result: result ?? null,
    errors: errors ?? null,
    outcome: outcome === 'skipped' ? 'skipped' : null,
    reason: reason ?? null,
    stopRequest: stopOf(intOf(stop)),
    leaseUntilMs: intOrNull(leaseUntil),
    started: boolOf(started),
    lapses: intOf(lapses),
    alone: isAloneLine(intOf(line)),
    uniqueKey: uniqueKey ?? null,
    retentionMs: intOrNull(retention),
    waitsFor: summary.status === 'blocked' ? idsOf(parents) : [],
    waitedFor: summary.status === 'blocked' ? [] : idsOf(parents),
    ...boundsOf(terms ?? null),
  };
}

const idsOf = (text: string | null | undefined): string[] => text?.split(',') ?? [];

function statsOf([
  queue,
  paused,
  pending,
  claimable,
  blocked,
  processing,
  completed,
  buried,
  cancelled,
  oldest,
]: Row): QueueStats {
  const isPaused = boolOf(paused);
  return {
    queue: textOf(queue),
    paused: isPaused,
    pending: intOf(pending),
    claimable: isPaused ? 0 : intOf(claimable),
    blocked: intOf(blocked),
    processing: intOf(processing),
    completed: intOf(completed),
    buried: intOf(buried),
    cancelled: intOf(cancelled),
    oldestDueForMs: isPaused ? null : intOrNull(oldest),
  };
}
