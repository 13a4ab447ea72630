import type { JobDefinition } from '../client/job-definition.js';
import type { InputOf, Resolved } from '../client/job-types.js';
import type { Jsonified } from '../client/jsonified.js';
import type { Millrace } from '../client/millrace.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import { nearestName } from '../internal/nearest-name.js';
import type { Storage } from '../storage/storage.js';
import { type DispatchFilter, matching, missingDispatch, unwantedDispatch } from './expectations.js';
import { type Fault, type FaultyStorage, faultyStorage } from './faulty-storage.js';
import { IdleRunner } from './idle-runner.js';
import { KitClient } from './kit-client.js';
import {
  invalid,
  type RunOptions,
  resolveKit,
  resolveRun,
  startOf,
  type TestKitOptions,
} from './kit-options.js';
import { KitClock, KitStorage, type RecordedDispatch } from './kit-storage.js';
import { type JobRun, RunReport } from './run-report.js';

/** What a dispatch of a job is recorded with. */
type RecordOf<Jobs extends readonly JobDefinition[], Target> = RecordedDispatch<
  Jsonified<InputOf<Resolved<Jobs, Target>>>
>;
type FilterOf<Jobs extends readonly JobDefinition[], Target> = DispatchFilter<
  Jsonified<InputOf<Resolved<Jobs, Target>>>
>;

/**
 * A queue for one test: the client, executor and worker of production over a storage in memory, on a clock that stands
 * still until the test moves it. Nothing runs but when `runUntilIdle` or `runFor` is called.
 *
 * @example
 * await using kit = await createTestKit({ jobs: [remind] });
 * await kit.millrace.dispatch(remind, { user: 'ada' }, { delay: '1d' });
 * await kit.advance('1d');
 * const { completed } = await kit.runUntilIdle();
 *
 * @throws MillraceError as `new Millrace()` does: `option-unknown`, `option-invalid`, `settings-invalid`, `job-name-duplicate`
 */
export async function createTestKit<const Jobs extends readonly JobDefinition[] = readonly []>(
  options: TestKitOptions<Jobs> = {},
): Promise<TestKit<Jobs>> {
  const kit = new TestKit(options);
  await kit.millrace.open();
  return kit;
}

/** Made by `createTestKit`. */
export class TestKit<const Jobs extends readonly JobDefinition[] = readonly JobDefinition[]>
  implements AsyncDisposable
{
  /** Hand this to the application under test. */
  readonly millrace: Millrace<Jobs>;
  readonly #clock: KitClock;
  readonly #storage: KitStorage;
  readonly #faulty: FaultyStorage;
  readonly #runner: IdleRunner;
  readonly #names: readonly string[];
  readonly #dispatchFaults: Error[] = [];
  #tail: Promise<unknown> = Promise.resolve();

  constructor({ now, ...options }: TestKitOptions<Jobs> = {}) {
    this.#clock = new KitClock(startOf(now));
    this.#storage = new KitStorage(this.#clock);
    this.#faulty = faultyStorage(this.#storage);
    const { jobs, ...client } = resolveKit(options, this.#faulty.storage);
    this.millrace = new KitClient<Jobs>({ ...client, jobs }, this.#dispatchFaults);
    this.#runner = new IdleRunner({
      millrace: this.millrace as unknown as Millrace,
      storage: this.#storage,
      clock: this.#clock,
    });
    this.#names = (jobs ?? []).map(({ name }) => name);
  }

  /** The storage as client and worker see it, faults included. */
  get storage(): Storage {
    return this.#faulty.storage;
  }

  // ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────
  /** What the clock of the queue shows. The `Date` of the process is not touched. */
  now(): Date {
    return new Date(this.#clock.nowMs);
  }

  /**
   * Moves the clock on: delayed jobs and retries fall due, unique periods pass. Runs nothing.
   *
   * @throws MillraceError `option-invalid`
   */
  async advance(by: Duration): Promise<void> {
    this.#clock.nowMs += parseDuration(by, { name: 'advance' });
    this.#storage.wakeAll();
  }

  /**
   * Runs everything that is due, and what falls due through it at once, on a worker as in production, until nothing is
   * due. Retries wait for the longest time that their backoff allows, so that tests can tell when they are due.
   *
   * @throws MillraceError `deadline-exceeded` naming the jobs that still ran, `option-invalid`
   */
  runUntilIdle(options: RunOptions = {}): Promise<RunReport> {
    return this.#oneByOne(() => this.#runner.run(resolveRun(options, this.millrace.internals.settings)));
  }

  /**
   * Lets so much time pass: moves the clock from one due time to the next and runs what is due then. A whole life of
   * retries takes milliseconds.
   *
   * @throws MillraceError as `runUntilIdle`
   */
  runFor(duration: Duration, options: RunOptions = {}): Promise<RunReport> {
    return this.#oneByOne(async () => {
      const untilMs = this.#clock.nowMs + parseDuration(duration, { name: 'runFor' });
      const resolved = resolveRun(options, this.millrace.internals.settings);
      const endsAtMs = performance.now() + resolved.timeoutMs;
      const runs: JobRun[] = [];
      for (;;) {
        const timeoutMs = Math.max(endsAtMs - performance.now(), 0);
        const report = await this.#runner.run({ ...resolved, timeoutMs });
        runs.push(...report.runs);
        const nextMs = report.nextDueAt?.getTime() ?? Number.POSITIVE_INFINITY;
        this.#clock.nowMs = Math.min(nextMs, untilMs);
        if (nextMs > untilMs) return new RunReport({ ...report, runs });
      }
    });
  }

  // ── what was dispatched ───────────────────────────────────────────────────────────────────────────────────────
  /**
   * The jobs that were dispatched, oldest first, those that handlers dispatched among them. What was deduplicated made no
   * job, and is not listed.
   *
   * @throws MillraceError `job-name-unknown` for a name that is not among the jobs of this kit
   */
  dispatched(): RecordedDispatch[];
  dispatched<const Target extends JobDefinition | string>(
    job: Target,
    where?: FilterOf<Jobs, Target>,
  ): RecordOf<Jobs, Target>[];
  dispatched(job?: JobDefinition | string, where?: unknown): RecordedDispatch[] {
    if (job === undefined) return [...this.#storage.dispatches];
    return matching(this.#of(job), where as never);
  }

  /**
   * The newest dispatch of this job with this in its input (or that a function accepts).
   *
   * @throws AssertionError telling what was dispatched instead and where it differs; MillraceError `job-name-unknown`
   */
  expectDispatched<const Target extends JobDefinition | string>(
    job: Target,
    where?: FilterOf<Jobs, Target>,
  ): RecordOf<Jobs, Target> {
    const evidence = { ofJob: this.#of(job), where: where as never, caller: this.expectDispatched };
    const found = matching(evidence.ofJob, evidence.where).at(-1);
    if (found === undefined)
      throw missingDispatch(nameOf(job), { ...evidence, all: this.#storage.dispatches });
    return found as RecordOf<Jobs, Target>;
  }

  /** @throws AssertionError telling what was dispatched; MillraceError `job-name-unknown` */
  expectNotDispatched<const Target extends JobDefinition | string>(
    job: Target,
    where?: FilterOf<Jobs, Target>,
  ): void {
    const found = matching(this.#of(job), where as never);
    if (found.length > 0) throw unwantedDispatch(nameOf(job), found, this.expectNotDispatched);
  }

  // ── faults ────────────────────────────────────────────────────────────────────────────────────────────────────
  /**
   * The next call of `dispatch` or `dispatchMany`, by the application or by a handler, rejects with this error and
   * dispatches nothing: for what your code does then. Called twice, the next two do.
   *
   * @param error @default that of a client whose database was away for too long, MillraceError `deadline-exceeded`
   */
  failNext(operation: 'dispatch', error: Error = dispatchFault()): void {
    if (operation !== 'dispatch') {
      throw invalid('failNext', "'dispatch' (faults of other calls are made by failStorage)", operation);
    }
    this.#dispatchFaults.push(error);
  }

  /**
   * The next calls of a method of storage go wrong, one for each fault: `before` rejects and changes nothing, `after`
   * commits and rejects all the same, `hang` never answers, `{ delayMs }` answers late (in real time). Client and worker
   * mend what they can: nothing should be lost or doubled.
   *
   * @param error made for each @default MillraceError `connection-lost`, which is retryable
   */
  failStorage(method: keyof Storage, faults: Fault | readonly Fault[], error?: () => Error): void {
    if (typeof this.#storage[method] !== 'function') {
      throw invalid('failStorage', 'the name of a method of Storage, such as "settle"', method);
    }
    const list = typeof faults === 'object' && !('delayMs' in faults) ? faults : [faults];
    this.#faulty.fail(method, list, error);
  }

  /** Ends workers and client. Idempotent. */
  async close(): Promise<void> {
    await this.millrace.close();
    await this.#storage.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A second run waits for the first, so that no two workers share what is due. */
  #oneByOne<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(run);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  #of(job: JobDefinition | string): RecordedDispatch[] {
    const name = nameOf(job);
    const found = this.#storage.dispatches.filter((dispatch) => dispatch.name === name);
    const isTypo = typeof job === 'string' && found.length === 0 && !this.#isKnown(job);
    if (isTypo) throw unknownName(name, this.#names);
    return found;
  }

  /** A kit without jobs takes any name, as a client does. */
  #isKnown(name: string): boolean {
    return this.#names.length === 0 || this.#names.includes(name);
  }
}

function nameOf(job: JobDefinition | string): string {
  return typeof job === 'string' ? job : job.name;
}

function unknownName(name: string, names: readonly string[]): MillraceError {
  const nearest = nearestName(name, names);
  const hint = nearest === undefined ? `Known are: ${names.join(', ')}` : `Did you mean "${nearest}"?`;
  return new MillraceError('job-name-unknown', `no job "${name}" is among the jobs of this kit. ${hint}`, {
    details: { name },
  });
}

function dispatchFault(): MillraceError {
  return new MillraceError(
    'deadline-exceeded',
    'dispatch: not confirmed in time: the database could not be reached (a fault made by failNext)',
  );
}
