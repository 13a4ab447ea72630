/*
 * Dispatch. Plain jobs (no key, no parents, no tags) of calls that come while a statement is under way share the next one; a lone
 * call goes at once and costs one round trip. Nothing waits for a timer.
 */
import { MillraceError } from '../../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { isOrdinary } from './bounds.js';
import type { Context } from './context.js';
import { boundColumns, jobColumns, jobValues, versionColumn } from './job-columns.js';
import { KindRegistry } from './kind-registry.js';
import { LineRegistry } from './line-registry.js';
import { type EnqueueQueries, enqueueQueries } from './queries/enqueue.js';
import { lineQueries } from './queries/lines.js';
import { enqueueRelated } from './related-jobs.js';
import { intOf, type Row } from './statement.js';

/** What was written before the first job of its kind was, on a connection of ours. */
export interface Registries {
  readonly kinds: KindRegistry;
  readonly lines: LineRegistry;
}

/** One statement takes at most so many jobs and so much payload. */
const statementJobs = 1_000;
const statementChars = 8_000_000;

interface Call {
  readonly jobs: readonly NewJob[];
  readonly resolve: (outcomes: EnqueueOutcome[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Enqueuer {
  readonly #context: Context;
  readonly #queries: EnqueueQueries;
  readonly registries: Registries;
  #waiting: Call[] = [];
  #isWriting = false;

  /** `registries`: of another one, which sees to it that they are forgotten with each new session. */
  constructor(context: Context, registries?: Registries) {
    this.#context = context;
    this.#queries = enqueueQueries(context.schema);
    this.registries = registries ?? this.#ownRegistries(context);
  }

  #ownRegistries({ connection, schema, offsetMs }: Context): Registries {
    const kinds = new KindRegistry(connection, this.#queries);
    const lines = new LineRegistry(connection, lineQueries(schema), offsetMs);
    connection.onOpen(() => {
      kinds.forget();
      lines.forget();
    });
    return { kinds, lines };
  }

  async enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    for (const job of jobs) refuseSeparators(job);
    if (jobs.length === 0) return [];
    if (!jobs.every(isPlain)) return this.#writeRelated(jobs);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ jobs, resolve, reject });
      if (!this.#isWriting) void this.#writeWaiting();
    });
  }

  async #writeRelated(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const { kinds, lines } = this.registries;
    await kinds.know(jobs);
    const outcomes = await enqueueRelated(this.#context, this.#queries, jobs, await lines.of(jobs));
    this.#wake(jobs);
    return outcomes;
  }

  async #writeWaiting(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#waiting.length > 0) await this.#writeBatch(this.#nextBatch());
    } finally {
      this.#isWriting = false;
    }
  }

  #nextBatch(): Call[] {
    let jobs = 0;
    let chars = 0;
    let calls = 0;
    for (const call of this.#waiting) {
      jobs += call.jobs.length;
      for (const job of call.jobs) chars += job.payload.length;
      if (calls > 0 && (jobs > statementJobs || chars > statementChars)) break;
      calls += 1;
    }
    const batch = this.#waiting;
    if (calls === batch.length) {
      this.#waiting = [];
      return batch;
    }
    this.#waiting = batch.slice(calls);
    return batch.slice(0, calls);
  }

  async #writeBatch(batch: readonly Call[]): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only !== undefined) return this.#writeCall(only);
    try {
      const jobs = batch.flatMap((call) => call.jobs);
      const outcomes = await this.#write(jobs);
      let from = 0;
      for (const { jobs: own, resolve } of batch) {
        resolve(outcomes.slice(from, from + own.length));
        from += own.length;
      }
    } catch (error) {
      if (isRetryable(error)) for (const call of batch) call.reject(error);
      else for (const call of batch) await this.#writeCall(call);
    }
  }

  async #writeCall({ jobs, resolve, reject }: Call): Promise<void> {
    try {
      resolve(await this.#write(jobs));
    } catch (error) {
      if (jobs.length > 1 && !isRetryable(error)) await this.#writeRows(jobs);
      reject(error);
    }
  }

  /** One row made the statement fail: the others are written, so that it fails alone. */
  async #writeRows(jobs: readonly NewJob[]): Promise<void> {
    for (const job of jobs) {
      await this.#write([job]).catch((error: unknown) => {
        this.#context.logger.warn('postgres: a job of a batch could not be written', { id: job.id, error });
      });
    }
  }

  async #write(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const { kinds } = this.registries;
    if (kinds.misses(jobs)) await kinds.know(jobs);
    const [only] = jobs;
    const outcomes = !jobs.every(isOrdinary)
      ? await this.#writeBounded(jobs)
      : jobs.length === 1 && only !== undefined
        ? [await this.#writeOne(only)]
        : await this.#writeMany(jobs);
    this.#wake(jobs);
    return outcomes;
  }

  async #writeOne(job: NewJob): Promise<EnqueueOutcome> {
    const { connection, offsetMs } = this.#context;
    const rows = await connection.run(this.#queries.insertOne, [...jobValues(job), offsetMs(), job.version]);
    return { outcome: rows.length === 1 ? 'created' : 'replayed', id: job.id };
  }

  async #writeMany(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const { connection, offsetMs } = this.#context;
    const [row] = await connection.run(this.#queries.insertMany, [
      ...jobColumns(jobs),
      offsetMs(),
      versionColumn(jobs),
    ]);
    return outcomesOf(jobs, row);
  }

  async #writeBounded(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const { connection, offsetMs } = this.#context;
    const lines = await this.registries.lines.of(jobs);
    const [row] = await connection.run(this.#queries.insertBounded, [
      ...jobColumns(jobs),
      offsetMs(),
      versionColumn(jobs),
      ...boundColumns(jobs, lines),
    ]);
    return outcomesOf(jobs, row);
  }

  #wake(jobs: readonly NewJob[]): void {
    const queues = new Set<string>();
    for (const { due, queue } of jobs) if (!('inMs' in due) || due.inMs <= 0) queues.add(queue);
    if (queues.size > 0) this.#context.wake(queues);
  }
}

/** An id that stands twice in one batch is created by its first. */
function outcomesOf(jobs: readonly NewJob[], row: Row | undefined): EnqueueOutcome[] {
  if (intOf(row?.[0]) === jobs.length) return jobs.map(({ id }) => ({ outcome: 'created', id }));
  const created = new Set((row?.[1] ?? '').split(','));
  return jobs.map(({ id }) => ({ outcome: created.delete(id.toLowerCase()) ? 'created' : 'replayed', id }));
}

function isPlain(job: NewJob): boolean {
  return job.unique === null && job.idempotency === null && job.after === null && job.tags.length === 0;
}

/** Whether what failed concerns more than one row: the others would fail too. */
function isRetryable(error: unknown): boolean {
  return error instanceof MillraceError && (error.retryable || forAll.has(error.code));
}

const forAll: ReadonlySet<string> = new Set(['closed', 'tx-aborted', 'tx-invalid']);

// biome-ignore lint/suspicious/noControlCharactersInRegex: these two stand between the fields of a claim's answer
const separators = /[\x1e\x1f]/;

function refuseSeparators(job: NewJob): void {
  if (!separators.test(job.payload) && !separators.test(job.name) && !separators.test(job.queue)) return;
  throw new MillraceError(
    'json-invalid',
    'payload, name or queue: expected JSON text and plain names, got one with a raw control character U+001E or U+001F',
    { details: { id: job.id } },
  );
}
