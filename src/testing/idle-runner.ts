/**
 * Runs what is due, by a worker as in production, until nothing is due any more.
 *
 *   look: is something due? ──no──▶ report
 *     ▲          │ yes
 *     │          ▼
 *     └── a worker on all queues there are, until it is idle, then stopped
 *
 * A worker is told its queues when it is made, and handlers dispatch into new ones: hence the loop. Between two runs no
 * worker exists, so nothing runs behind the back of a test. The clock stands still, so what is put off for any time at
 * all ends the loop; what is due again at once does not, and meets the deadline. That one is real time, as are the
 * timeouts of attempts: the code of a handler can't be hurried.
 */
import { decodeOutput } from '../client/codec.js';
import type { RunnableJob } from '../client/job-definition.js';
import type { Millrace } from '../client/millrace.js';
import { workerSettings } from '../client/worker-host.js';
import { withDeadline } from '../internal/deadline.js';
import { formatDuration } from '../internal/duration.js';
import { hasErrorCode, MillraceError } from '../internal/errors.js';
import { mostLabels } from '../internal/labels.js';
import { version } from '../internal/version.js';
import type { WorkerHost } from '../worker/host.js';
import { Worker } from '../worker/worker.js';
import type { KitClock, KitStorage } from './kit-storage.js';
import { RunRecord } from './run-record.js';
import { type JobRun, RunReport } from './run-report.js';

export interface IdleRunnerParts {
  readonly millrace: Millrace;
  /** For looking; the worker goes through that of the client, with its faults. */
  readonly storage: KitStorage;
  readonly clock: KitClock;
}

export interface IdleRunOptions {
  /** Real time. */
  readonly timeoutMs: number;
  /** These first and in this order, then all others. */
  readonly queues: readonly string[];
  readonly concurrency: number;
}

/** One page of pending jobs is enough to name what has no code here. */
const pendingPage = 1_000;
const idleName = 'the jobs of a test kit';

export class IdleRunner {
  readonly #parts: IdleRunnerParts;
  readonly #host: WorkerHost;
  readonly #names: readonly string[];
  /** Whatever a job asks for is there. */
  readonly #labels: readonly string[];

  constructor(parts: IdleRunnerParts) {
    const { definitions, events, files, logger, settings, storage } = parts.millrace.internals;
    this.#parts = parts;
    this.#names = [...definitions.keys()];
    const required = [...definitions.values()].flatMap(({ requires }) => requires);
    this.#labels = [...new Set([...settings.labels, ...required])].slice(0, mostLabels);
    const dispatch: WorkerHost['dispatch'] = (job, input, given) =>
      parts.millrace.dispatch(job, input, given as never);
    this.#host = {
      storage,
      database: null,
      definitions: inlineOnly(definitions),
      events,
      files,
      logger,
      settings: workerSettings(settings),
      version,
      dispatch,
      dispatchOver: () => dispatch,
      // The longest wait that the backoff of a job can give: what a test has to expect does not change from run to run.
      random: () => 1,
    };
  }

  async run(options: IdleRunOptions): Promise<RunReport> {
    using record = new RunRecord(this.#host.events, this.#parts.clock);
    const endsAtMs = performance.now() + options.timeoutMs;
    for (;;) {
      const queues = await this.#queues(options.queues);
      const { dueInMs, aloneDue } = await this.#parts.storage.peek({
        takes: [{ queues, names: this.#names, limit: 1, start: 1 }],
        labels: this.#labels,
        budgets: this.#host.settings.budgets,
      });
      if (dueInMs !== 0 && !aloneDue) return await this.#report(record, dueInMs);
      await this.#pass(queues, { ...options, endsAtMs, record });
    }
  }

  async #pass(
    queues: readonly string[],
    { concurrency, timeoutMs, endsAtMs, record }: IdleRunOptions & { endsAtMs: number; record: RunRecord },
  ): Promise<void> {
    const worker = new Worker(this.#host, { queues, concurrency, duties: false, labels: this.#labels });
    const idle = worker.start().then(() => worker.idle());
    try {
      await withDeadline(idle, { ms: Math.max(endsAtMs - performance.now(), 0), name: idleName });
    } catch (error) {
      const isOver = hasErrorCode(error, 'deadline-exceeded') && error.details['name'] === idleName;
      throw isOver ? stuckError(record, timeoutMs, error) : error;
    } finally {
      await worker.stop({ deadlineMs: 0 });
    }
  }

  async #queues(first: readonly string[]): Promise<string[]> {
    const known = (await this.#parts.storage.stats()).map(({ queue }) => queue);
    return [...new Set([...first, ...known])];
  }

  async #report(record: RunRecord, dueInMs: number | null): Promise<RunReport> {
    const { storage, clock } = this.#parts;
    return new RunReport({
      runs: await this.#withResults(record.runs),
      nextDueAt: dueInMs === null ? null : new Date(clock.nowMs + dueInMs),
      unhandled: await this.#unhandled(storage),
    });
  }

  async #withResults(runs: readonly JobRun[]): Promise<JobRun[]> {
    const completed = runs.filter(({ outcome }) => outcome === 'completed').map(({ id }) => id);
    const endings = await this.#parts.storage.endings(completed);
    const results = new Map(endings.map(({ id, result }) => [id, result] as const));
    return runs.map((run) => {
      if (run.outcome !== 'completed') return run;
      return { ...run, result: decodeOutput(results.get(run.id) ?? null, `result of job ${run.id}`) };
    });
  }

  /** Those of paused queues have code and wait all the same: only names tell. */
  async #unhandled(storage: KitStorage): Promise<string[]> {
    const { jobs } = await storage.jobs({ status: 'pending' }, { limit: pendingPage });
    const due = jobs.filter(({ dueAtMs }) => dueAtMs <= this.#parts.clock.nowMs);
    return [...new Set(due.map(({ name }) => name))].filter((name) => !this.#names.includes(name)).sort();
  }
}

/** A test sees what its handlers do, and can stop in them: no job of it runs in a child process. */
function inlineOnly(definitions: ReadonlyMap<string, RunnableJob>): ReadonlyMap<string, RunnableJob> {
  return new Map([...definitions].map(([name, job]) => [name, { ...job, lane: 'inline' }]));
}

function stuckError(record: RunRecord, timeoutMs: number, cause: unknown): MillraceError {
  return new MillraceError(
    'deadline-exceeded',
    `runUntilIdle: not idle after ${formatDuration(timeoutMs)} of real time; ${record.describe()}. ` +
      'Handlers run in real time: give those that wait something that answers, or allow more by { timeout }',
    { cause },
  );
}
