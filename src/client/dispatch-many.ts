import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { describeValue } from '../internal/describe-value.js';
import { formatDuration } from '../internal/duration.js';
import { isMillraceError, MillraceError } from '../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';
import { dependencyOrder } from './dependency-sort.js';
import { type Dispatcher, refusal } from './dispatch.js';
import type { JobDefinition } from './job-definition.js';
import type { JobHandle } from './job-handle.js';
import type { StorageAccess } from './storage-access.js';

/** One job of a bulk dispatch. */
export interface DispatchEntry {
  readonly job: JobDefinition | string;
  readonly input?: unknown;
  readonly options?: object | undefined;
}

export interface BulkOptions {
  readonly access: StorageAccess;
  readonly dispatcher: Dispatcher;
  readonly timeoutMs: number;
  readonly random: () => number;
}

/** The seam takes so many in a call. */
const chunkSize = 1000;
const mostShown = 10;
const pauseBaseMs = 20;
const pauseMaxMs = 1000;

/**
 * Dispatches many jobs, 1,000 a statement, each after those of the same call that it waits for. All are checked before
 * the first is written. Handles stand in the order of the entries.
 */
export async function dispatchMany(
  entries: readonly DispatchEntry[],
  options: BulkOptions,
): Promise<JobHandle[]> {
  const jobs = await prepareAll(entries, options.dispatcher);
  const order = dependencyOrder(jobs);
  const handles: JobHandle[] = new Array(jobs.length);
  const refused: { index: number; error: MillraceError }[] = [];
  for (let start = 0; start < jobs.length; start += chunkSize) {
    const positions = order?.slice(start, start + chunkSize) ?? null;
    const chunk = positions?.map((index) => jobs[index] as NewJob) ?? jobs.slice(start, start + chunkSize);
    const { outcomes, wasRepeated } = await enqueueChunk(chunk, { ...options, writtenBefore: start });
    // A local file is written within the call: the rest of the process gets its turn between chunks.
    if (start + chunkSize < jobs.length) await turn();
    for (const [offset, outcome] of outcomes.entries()) {
      const index = positions?.[offset] ?? start + offset;
      const isKnownRepeat = wasRepeated || !hasId(entries[index]?.options);
      if (isRefused(outcome)) refused.push({ index, error: refusal(jobs[index] as NewJob, outcome) });
      else handles[index] = options.dispatcher.handleOf(jobs[index] as NewJob, outcome, isKnownRepeat);
    }
  }
  if (refused.length > 0) throw refusedError(refused, handles);
  return handles;
}

function hasId(options: object | undefined): boolean {
  return options !== undefined && 'id' in options;
}

type Refused = Extract<EnqueueOutcome, { outcome: 'idempotency-conflict' | 'parent-not-found' }>;

function isRefused(outcome: EnqueueOutcome): outcome is Refused {
  return outcome.outcome === 'idempotency-conflict' || outcome.outcome === 'parent-not-found';
}

async function prepareAll(entries: readonly DispatchEntry[], dispatcher: Dispatcher): Promise<NewJob[]> {
  const problems: { index: number; error: unknown }[] = [];
  const jobs: NewJob[] = new Array(entries.length);
  const pending: Promise<void>[] = [];
  for (const [index, entry] of entries.entries()) {
    const keep = (job: NewJob): void => {
      jobs[index] = job;
    };
    const refuse = (error: unknown): void => {
      problems.push({ index, error });
    };
    try {
      const prepared = prepareEntry(entry, dispatcher);
      if (prepared instanceof Promise) pending.push(prepared.then(keep, refuse));
      else keep(prepared);
    } catch (error) {
      refuse(error);
    }
  }
  if (pending.length > 0) await Promise.all(pending);
  if (problems.length > 0) throw invalidEntries(problems, entries.length);
  return jobs;
}

function prepareEntry(entry: unknown, dispatcher: Dispatcher): ReturnType<Dispatcher['prepare']> {
  if (typeof entry !== 'object' || entry === null || !('job' in entry)) {
    throw new MillraceError(
      'option-invalid',
      `expected { job, input, options }, got ${describeValue(entry)}`,
    );
  }
  const { job, input, options } = entry as DispatchEntry;
  return dispatcher.prepare(job, input, options);
}

interface ChunkOptions extends BulkOptions {
  readonly writtenBefore: number;
}

/** Repeats the chunk, with the same ids, while that may help and the deadline has not passed. */
async function enqueueChunk(
  chunk: readonly NewJob[],
  { access, timeoutMs, random, writtenBefore }: ChunkOptions,
): Promise<{ outcomes: EnqueueOutcome[]; wasRepeated: boolean }> {
  const deadlineAt = performance.now() + timeoutMs;
  for (let failures = 0; ; ) {
    try {
      const storage = access.current ?? (await access.get());
      return { outcomes: await storage.enqueue(chunk), wasRepeated: failures > 0 };
    } catch (error) {
      const isRetryable = isMillraceError(error) && error.retryable;
      if (!isRetryable || performance.now() >= deadlineAt) {
        throw chunkError(error, { isRetryable, timeoutMs, writtenBefore, chunk });
      }
      failures += 1;
      await pause(random() * Math.min(pauseMaxMs, pauseBaseMs * 2 ** Math.min(failures, 10)));
    }
  }
}

function chunkError(
  error: unknown,
  about: { isRetryable: boolean; timeoutMs: number; writtenBefore: number; chunk: readonly NewJob[] },
): unknown {
  const { isRetryable, timeoutMs, writtenBefore, chunk } = about;
  if (!isMillraceError(error)) return error;
  const within = isRetryable ? ` within ${formatDuration(timeoutMs)}` : '';
  return new MillraceError(
    isRetryable ? 'deadline-exceeded' : error.code,
    `bulk dispatch: ${writtenBefore} jobs were written, the next ${chunk.length} could not be confirmed${within}: ${error.message}`,
    {
      retryable: isRetryable,
      details: { written: writtenBefore, unconfirmedIds: chunk.map(({ id }) => id) },
      cause: error,
    },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function invalidEntries(problems: { index: number; error: unknown }[], total: number): unknown {
  problems.sort((a, b) => a.index - b.index);
  const [first] = problems;
  const codes = new Set(problems.map(({ error }) => (isMillraceError(error) ? error.code : undefined)));
  const [code] = codes;
  if (code === undefined && codes.size === 1) return first?.error;
  const lines = problems
    .slice(0, mostShown)
    .map(({ index, error }) => `  entry ${index}: ${messageOf(error)}`);
  const more = problems.length > mostShown ? `\n  and ${problems.length - mostShown} more` : '';
  return new MillraceError(
    codes.size === 1 && code !== undefined ? code : 'option-invalid',
    `bulk dispatch: ${problems.length} of ${total} entries can't be dispatched, so none was written:\n${lines.join('\n')}${more}`,
    { details: { indexes: problems.map(({ index }) => index) }, cause: first?.error },
  );
}

function refusedError(
  refused: { index: number; error: MillraceError }[],
  handles: readonly (JobHandle | undefined)[],
): MillraceError {
  refused.sort((a, b) => a.index - b.index);
  const { error } = refused[0] as { error: MillraceError };
  const lines = refused
    .slice(0, mostShown)
    .map(({ index, error: { message } }) => `  entry ${index}: ${message}`);
  const more = refused.length > mostShown ? `\n  and ${refused.length - mostShown} more` : '';
  return new MillraceError(
    error.code,
    `bulk dispatch: ${refused.length} of ${handles.length} jobs were refused, the others were written:\n${lines.join('\n')}${more}`,
    {
      details: {
        refused: refused.map(({ index, error: { code } }) => ({ index, code })),
        ids: Array.from(handles, (handle) => handle?.id ?? null),
      },
      cause: error,
    },
  );
}
