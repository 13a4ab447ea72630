/**
 * Concurrent calls share the next statement: one is in flight at most, what arrives meanwhile goes with the next one, and a
 * lone call goes at once. There is no timer. A shared statement that fails is done again call by call, then row by row, so
 * that one bad job fails alone.
 */
import { isMillraceError } from '../../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { chunksBySize } from './chunks.js';
import { ordinaryLine } from './codes.js';
import type { Context } from './context.js';
import { enqueueCarefully } from './enqueue-carefully.js';
import { isCountMismatch, isDuplicateRow } from './errors.js';
import { isLineGone } from './lines.js';
import { enqueueStatements, laneOf, type NumberedJob } from './queries/enqueue.js';

interface Call {
  readonly jobs: readonly NewJob[];
  readonly resolve: (outcomes: EnqueueOutcome[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Of all calls that share a statement. */
const mostRows = 1_000;
/** Lines are removed when nobody named them for a day: whoever finds one gone this often in a row has a broken table. */
const mostNamings = 5;

export class Enqueuer {
  readonly #context: Context;
  /** They are written in a transaction of the user's. */
  readonly #areForeign: boolean;
  #waiting: Call[] = [];
  #isBusy = false;

  constructor(context: Context, areForeign = false) {
    this.#context = context;
    this.#areForeign = areForeign;
  }

  enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    if (jobs.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ jobs, resolve, reject });
      if (!this.#isBusy) void this.#work();
    });
  }

  /** Never rejects: every call is told its own end. */
  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) {
      const calls = this.#takeCalls();
      try {
        const outcomes = await this.#write(calls.flatMap(({ jobs }) => jobs));
        let from = 0;
        for (const { jobs, resolve } of calls) {
          resolve(outcomes.slice(from, from + jobs.length));
          from += jobs.length;
        }
      } catch (error) {
        await this.#oneByOne(calls, error);
      }
    }
    this.#isBusy = false;
  }

  #takeCalls(): Call[] {
    let rows = 0;
    let count = 0;
    for (const { jobs } of this.#waiting) {
      if (count > 0 && rows + jobs.length > mostRows) break;
      rows += jobs.length;
      count += 1;
    }
    const calls = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return calls;
  }

  async #oneByOne(calls: readonly Call[], error: unknown): Promise<void> {
    const concernsAll = isMillraceError(error) && (error.retryable || error.code !== 'query-failed');
    for (const { jobs, resolve, reject } of calls) {
      if (concernsAll && error.code !== 'option-invalid') reject(error);
      else await this.#rowByRow(jobs).then(resolve, reject);
    }
  }

  /** Every row is tried; the first error is what the call is told. */
  async #rowByRow(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const outcomes: EnqueueOutcome[] = [];
    const errors: unknown[] = [];
    for (const job of jobs) {
      try {
        outcomes.push(...(await this.#write([job])));
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
    return outcomes;
  }

  async #write(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.#writeOnce(jobs);
      } catch (error) {
        const isGone = isLineGone(error) || isCountMismatch(error);
        if (!isGone || tries === mostNamings) throw error;
        this.#context.lines.forget();
      }
    }
  }

  async #writeOnce(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]> {
    const numbered = await this.#numbered(jobs);
    const outcomes: EnqueueOutcome[] = [];
    for (const chunk of chunksBySize(
      this.#context,
      numbered,
      ({ job }) => Buffer.byteLength(job.payload) * 2,
    )) {
      outcomes.push(...(await this.#writeChunk(chunk)));
    }
    return outcomes;
  }

  async #writeChunk(jobs: readonly NumberedJob[]): Promise<EnqueueOutcome[]> {
    const context = this.#context;
    if (!jobs.every((job) => isPlain(job, this.#areForeign))) return enqueueCarefully(context, jobs);
    try {
      await context.main.sendTransaction('enqueue', enqueueStatements(context.t, jobs, context.now()));
      context.survey.noteWork(jobs.filter(({ line }) => line !== ordinaryLine).map(laneOf));
    } catch (error) {
      if (!isDuplicateRow(error)) throw error;
      return enqueueCarefully(context, jobs);
    }
    context.notifier.wake([...new Set(jobs.map(({ job }) => job.queue))]);
    return jobs.map(({ job }) => ({ outcome: 'created', id: job.id }));
  }

  async #numbered(jobs: readonly NewJob[]): Promise<NumberedJob[]> {
    const { queues, names, lanes, lines } = this.#context;
    // One after the other: of two on their way at once, one that fails would leave the rejection of the other to nobody.
    const queueOf = await queues.ids(jobs.map(({ queue }) => queue));
    const nameOf = await names.ids(jobs.map(({ name }) => name));
    await lines.ensure(jobs);
    const numbered = jobs.map((job, index) => ({
      job,
      queueId: queueOf[index] ?? 0,
      nameId: nameOf[index] ?? 0,
      line: lines.of(job),
    }));
    const lined = numbered.filter(({ line }) => line !== ordinaryLine);
    await lanes.ensure(
      (lined.length === 0 ? numbered : numbered.filter(({ line }) => line === ordinaryLine)).map(laneOf),
    );
    if (lined.length > 0 && this.#areForeign) await lines.makeLanes(lined.map(laneOf));
    else if (lined.length > 0) await lines.knowQueues(lined.map(({ queueId }) => queueId));
    return numbered;
  }
}

/** Nothing can stand against it but its own id, and in a packet of ours its line. */
function isPlain({ job, line }: NumberedJob, isForeign: boolean): boolean {
  if (isForeign && line !== ordinaryLine) return false;
  return job.unique === null && job.idempotency === null && job.after === null && job.tags.length === 0;
}
