import { parseQueueList } from '../core/queue-list.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { expectedGot, MillraceError } from '../internal/errors.js';

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

/** @throws MillraceError `option-unknown`, `option-invalid` or `queue-name-invalid` */
export function resolveWorkerOptions(
  options: WorkerOptions,
  defaults: { readonly stopTimeoutMs: number },
): ResolvedWorkerOptions {
  const unknown = Object.keys(options).filter((key) => !(known as readonly string[]).includes(key));
  if (unknown.length > 0) {
    throw new MillraceError(
      'option-unknown',
      `worker options: unknown ${unknown.join(', ')}. Known are ${known.join(', ')}.`,
      { details: { unknown } },
    );
  }
  const {
    queues = 'default',
    concurrency = 10,
    stopTimeout = defaults.stopTimeoutMs,
    duties = true,
  } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1000) {
    throw new MillraceError(
      'option-invalid',
      expectedGot({ what: 'concurrency', expected: 'a whole number from 1 to 1000', got: concurrency }),
    );
  }
  if (typeof duties !== 'boolean') {
    throw new MillraceError(
      'option-invalid',
      expectedGot({ what: 'duties', expected: 'true or false', got: duties }),
    );
  }
  const { queues: list } = parseQueueList(queues);
  return Object.freeze({
    queues: list,
    concurrency,
    stopTimeoutMs: parseDuration(stopTimeout, { name: 'stopTimeout' }),
    duties,
  });
}
