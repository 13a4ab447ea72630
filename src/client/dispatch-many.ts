import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { describeValue } from '../internal/describe-value.js';
import { formatDuration } from '../internal/duration.js';
import { isMillraceError, MillraceError } from '../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';
import { dependencyOrder } from './dependency-sort.js';
import { type Dispatcher, type ForeignFacts, refusal } from './dispatch.js';
import { asyncSchema, enqueueWithinSync, queueWithin, txOf } from './dispatch-within.js';
import type { JobDefinition } from './job-definition.js';
import type { JobHandle } from './job-handle.js';
import { isPlainTemplate, plainJob } from './job-template.js';
import type { MaybePromise } from './schema.js';
import type { StorageAccess } from './storage-access.js';

/** One job of a bulk dispatch. */
export interface DispatchEntry {
  readonly job: JobDefinition | string;
  readonly input?: unknown;
  readonly options?: object | undefined;
  readonly facts?: ForeignFacts | undefined;
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
 * A job that was checked. Of a plain one only the payload is kept until its chunk is written: a large dispatch would
 * otherwise fill the heap with objects that all outlive the young generation [measured: a third of its time].
 */
type Checked = NewJob | string;

/** A chunk on its way. */
interface Sent {
  /** Of the entries, those that are in it. */
  readonly indexes: readonly number[];
  readonly jobs: readonly NewJob[];
  readonly answer: Promise<{ outcomes: EnqueueOutcome[]; wasRepeated: boolean }>;
}

/**
 * Dispatches many jobs, 1,000 a statement, each after those of the same call that it waits for. All are checked before
 * the first is written. Handles stand in the order of the entries.
 *
 * While the database writes one chunk the next is made ready and stands in line behind it, unless jobs wait for each
 * other: then a chunk is sent only when what it may wait for has been written.
 */
export async function dispatchMany(
  entries: readonly DispatchEntry[],
  options: BulkOptions,
): Promise<JobHandle[]> {
  const { dispatcher } = options;
  const checked = await checkAll(entries, dispatcher);
  const order = dependencyOrder(checked);
  const handles: JobHandle[] = new Array(checked.length);
  const refused: { index: number; error: MillraceError }[] = [];
  const take = async ({ indexes, jobs, answer }: Sent): Promise<void> => {
    const { outcomes, wasRepeated } = await answer;
    for (let offset = 0; offset < jobs.length; offset += 1) {
      const index = indexes[offset] as number;
      const job = jobs[offset] as NewJob;
      const outcome = outcomes[offset] as EnqueueOutcome;
      if (isRefused(outcome)) refused.push({ index, error: refusal(job, outcome) });
      else handles[index] = dispatcher.handleOf(job, outcome, wasRepeated || !hasId(entries[index]?.options));
    }
  };
  let ahead: Sent | null = null;
  for (let start = 0; start < checked.length; start += chunkSize) {
    const size = Math.min(chunkSize, checked.length - start);
    const indexes = Array.from({ length: size }, (_, offset) => order?.[start + offset] ?? start + offset);
    const jobs = indexes.map((index) =>
      newJobOf(checked[index] as Checked, entries[index] as DispatchEntry, dispatcher),
    );
    if (ahead !== null && order !== null) {
      await take(ahead);
      ahead = null;
    }
    const sent = { indexes, jobs, answer: enqueueChunk(jobs, { ...options, writtenBefore: start }) };
    if (ahead !== null) await takeBefore(ahead, sent, take);
    ahead = sent;
    // A local file is written within the call: the rest of the process gets its turn between chunks.
    if (start + chunkSize < checked.length) await turn();
  }
  if (ahead !== null) await take(ahead);
  if (refused.length > 0) throw refusedError(refused, handles);
  return handles;
}

/** All of it inside a transaction of the user's, in the same order; nothing is repeated. */
export async function dispatchManyWithin(
  entries: readonly DispatchEntry[],
  { dispatcher, access, tx }: Pick<BulkOptions, 'dispatcher' | 'access'> & { readonly tx: unknown },
): Promise<JobHandle[]> {
  const queue = await queueWithin(access, tx);
  const checked = await checkAll(entries, dispatcher);
  const written = new WrittenWithin(entries, checked, dispatcher);
  for (const chunk of written.chunks()) written.take(chunk, await queue.enqueue(chunk.jobs));
  return written.handles();
}

/** The same where the transaction's statements are done when they return. */
export function dispatchManySync(
  entries: readonly DispatchEntry[],
  { dispatcher, access, tx }: Pick<BulkOptions, 'dispatcher' | 'access'> & { readonly tx: unknown },
): JobHandle[] {
  const { checked, problems, pending } = checkEach(entries, dispatcher);
  if (problems.length > 0) throw invalidEntries(problems, entries.length);
  if (pending.length > 0) throw asyncSchema('of a bulk dispatch');
  const written = new WrittenWithin(entries, checked, dispatcher);
  for (const chunk of written.chunks()) written.take(chunk, enqueueWithinSync(access, tx, chunk.jobs));
  return written.handles();
}

interface Chunk {
  readonly indexes: readonly number[];
  readonly jobs: readonly NewJob[];
}

class WrittenWithin {
  readonly #entries: readonly DispatchEntry[];
  readonly #checked: readonly Checked[];
  readonly #dispatcher: Dispatcher;
  readonly #handles: JobHandle[];
  readonly #refused: { index: number; error: MillraceError }[] = [];

  constructor(entries: readonly DispatchEntry[], checked: readonly Checked[], dispatcher: Dispatcher) {
    this.#entries = entries;
    this.#checked = checked;
    this.#dispatcher = dispatcher;
    this.#handles = new Array(checked.length);
  }

  *chunks(): Iterable<Chunk> {
    const order = dependencyOrder(this.#checked) ?? this.#checked.map((_, index) => index);
    for (let start = 0; start < order.length; start += chunkSize) {
      const indexes = order.slice(start, start + chunkSize);
      const jobs = indexes.map((index) =>
        newJobOf(this.#checked[index] as Checked, this.#entries[index] as DispatchEntry, this.#dispatcher),
      );
      yield { indexes, jobs };
    }
  }

  take({ indexes, jobs }: Chunk, outcomes: readonly EnqueueOutcome[]): void {
    for (const [offset, job] of jobs.entries()) {
      const index = indexes[offset] as number;
      const outcome = outcomes[offset] as EnqueueOutcome;
      if (isRefused(outcome)) this.#refused.push({ index, error: refusal(job, outcome) });
      else this.#handles[index] = this.#dispatcher.handleWithin(job, outcome);
    }
  }

  /** @throws MillraceError where storage refused some; the others stand in the transaction */
  handles(): JobHandle[] {
    if (this.#refused.length > 0) throw refusedError(this.#refused, this.#handles);
    return this.#handles;
  }
}

/** When the first of two fails, nobody is left in doubt whether the other is still being written. */
async function takeBefore(first: Sent, next: Sent, take: (sent: Sent) => Promise<void>): Promise<void> {
  // Its own failure is told when its turn comes.
  next.answer.catch(() => undefined);
  try {
    await take(first);
  } catch (error) {
    await next.answer.catch(() => undefined);
    throw withUnconfirmed(error, next.jobs);
  }
}

/** The chunk behind one that failed may have been written: its ids belong to those that are not confirmed. */
function withUnconfirmed(error: unknown, jobs: readonly NewJob[]): unknown {
  if (!isMillraceError(error)) return error;
  const { unconfirmedIds } = error.details as { unconfirmedIds?: readonly string[] };
  if (unconfirmedIds === undefined) return error;
  return new MillraceError(error.code, error.message, {
    retryable: error.retryable,
    details: { ...error.details, unconfirmedIds: [...unconfirmedIds, ...jobs.map(({ id }) => id)] },
    cause: error.cause,
  });
}

function newJobOf(checked: Checked, { job, input }: DispatchEntry, dispatcher: Dispatcher): NewJob {
  return typeof checked === 'string' ? plainJob(dispatcher.find(job).template, checked, input) : checked;
}

function hasId(options: object | undefined): boolean {
  return options !== undefined && 'id' in options;
}

type Refused = Extract<EnqueueOutcome, { outcome: 'idempotency-conflict' | 'parent-not-found' }>;

function isRefused(outcome: EnqueueOutcome): outcome is Refused {
  return outcome.outcome === 'idempotency-conflict' || outcome.outcome === 'parent-not-found';
}

async function checkAll(entries: readonly DispatchEntry[], dispatcher: Dispatcher): Promise<Checked[]> {
  const { checked, problems, pending } = checkEach(entries, dispatcher);
  if (pending.length > 0) await Promise.all(pending);
  if (problems.length > 0) throw invalidEntries(problems, entries.length);
  return checked;
}

/** What schemas answer later is pending, and goes into the lists then. */
function checkEach(
  entries: readonly DispatchEntry[],
  dispatcher: Dispatcher,
): { checked: Checked[]; problems: { index: number; error: unknown }[]; pending: Promise<void>[] } {
  if (!Array.isArray(entries)) throw notEntries(entries);
  const problems: { index: number; error: unknown }[] = [];
  const checked: Checked[] = new Array(entries.length);
  const pending: Promise<void>[] = [];
  for (let index = 0; index < entries.length; index += 1) {
    try {
      const answer = checkEntry(entries[index], dispatcher);
      if (answer instanceof Promise) {
        const keep = (job: Checked): void => {
          checked[index] = job;
        };
        pending.push(answer.then(keep, (error: unknown) => void problems.push({ index, error })));
      } else checked[index] = answer;
    } catch (error) {
      problems.push({ index, error });
    }
  }
  return { checked, problems, pending };
}

function checkEntry(entry: unknown, dispatcher: Dispatcher): MaybePromise<Checked> {
  if (typeof entry !== 'object' || entry === null || !('job' in entry)) {
    throw new MillraceError(
      'option-invalid',
      `expected { job, input, options }, got ${describeValue(entry)}`,
    );
  }
  const { job, input, options, facts } = entry as DispatchEntry;
  if (txOf(options) !== undefined) {
    throw new MillraceError(
      'option-invalid',
      'option "tx" of one entry: the whole call is in one transaction or in none. Pass it behind the list: dispatchMany(entries, { tx })',
    );
  }
  const target = dispatcher.find(job);
  const isPlain = options === undefined && facts === undefined && isPlainTemplate(target.template);
  return isPlain ? dispatcher.prepareText(target, input) : dispatcher.prepare(job, input, { options, facts });
}

function notEntries(got: unknown): MillraceError {
  return new MillraceError(
    'option-invalid',
    `dispatchMany: expected a list of { job, input, options }, got ${describeValue(got)}`,
  );
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
