import { OptionProblems } from '../client/option-problems.js';
import { parseQueueList } from '../core/queue-list.js';
import { describeValue } from '../internal/describe-value.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { largestConcurrency } from '../internal/settings.js';

export interface WorkerOptions {
  /** Queues in strict order: while an earlier one has something that can run, no later one is served. A list or `'critical,default'`. @default 'default' */
  readonly queues?: string | readonly string[];
  /** Jobs at once, 1 … 1000. @default 10 */
  readonly concurrency?: number;
  /** How long running jobs may go on after `stop`; then they are aborted and put back. @default MILLRACE_STOP_TIMEOUT, 25 s */
  readonly stopTimeout?: Duration;
  /** Whether this process also recovers expired leases and cleans up. Leave it on unless others surely do. @default true */
  readonly duties?: boolean;
}

export interface ResolvedWorkerOptions {
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly stopTimeoutMs: number;
  readonly duties: boolean;
}

const known: readonly (keyof WorkerOptions)[] = ['queues', 'concurrency', 'stopTimeout', 'duties'];

/** @throws MillraceError `option-unknown`, `option-invalid` or `queue-name-invalid`, listing every problem */
export function resolveWorkerOptions(
  options: WorkerOptions,
  defaults: { readonly stopTimeoutMs: number },
): ResolvedWorkerOptions {
  const problems = new OptionProblems('options of a worker');
  const given = problems.takeObject(options);
  problems.checkKeys(given, known);
  const { concurrency = 10, duties = true, stopTimeout = defaults.stopTimeoutMs } = given;
  const isCount = typeof concurrency === 'number' && Number.isInteger(concurrency);
  if (!isCount || concurrency < 1 || concurrency > largestConcurrency) {
    problems.add(
      `option "concurrency": expected a whole number from 1 to ${largestConcurrency}, got ${describeValue(concurrency)}`,
    );
  }
  if (typeof duties !== 'boolean') {
    problems.add(`option "duties": expected true or false, got ${describeValue(duties)}`);
  }
  const queues = problems.attempt(() => parseQueueList(options.queues ?? 'default').queues, []);
  const stopTimeoutMs = problems.attempt(
    () => parseDuration(stopTimeout, { name: 'option "stopTimeout"' }),
    defaults.stopTimeoutMs,
  );
  problems.throwIfAny();
  return Object.freeze({
    queues,
    concurrency: concurrency as number,
    stopTimeoutMs,
    duties: duties as boolean,
  });
}
