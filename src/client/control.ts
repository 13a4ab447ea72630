import { parseQueueName } from '../core/queue-name.js';
import { describeValue } from '../internal/describe-value.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { MillraceError } from '../internal/errors.js';
import { isUuid } from '../internal/uuid.js';
import type { ControlOutcome } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';
import type { SyncTransactionQueue } from '../storage/transaction/queue.js';
import type { SyncUserTransaction, UserTransaction } from '../storage/transaction/user-transaction.js';
import { asyncSchema } from './dispatch-within.js';
import {
  type EditContext,
  type EditOptions,
  editFor,
  type ResolvedEdit,
  resolveEdit,
} from './edit-options.js';
import { OptionProblems } from './option-problems.js';

export interface RetryBuriedOptions {
  /** @default every queue */
  readonly queue?: string | undefined;
}

export type PurgeableStatus = 'completed' | 'buried' | 'cancelled';

export interface PurgeOptions {
  /** Only jobs that ended at least so long ago. @default setting `retentionDays`, 7 days */
  readonly olderThan?: Duration | undefined;
  /** @default ['completed', 'cancelled'] */
  readonly statuses?: readonly PurgeableStatus[] | undefined;
}

/** What is done to a job with nothing more to be said. */
export type ControlKind = 'retry' | 'bury' | 'cancel' | 'delete';

export interface TransactionOption {
  /** An open transaction of yours, on the database that holds the jobs: it is done with your commit, or not at all. */
  readonly tx?: UserTransaction | undefined;
}

/** For transactions whose statements are done when they return. */
export interface SyncTransactionOption {
  readonly tx: SyncUserTransaction;
}

/** Short transactions, so that work goes on between them. */
const rowsPerStep = 500;
const purgeable: readonly string[] = ['completed', 'buried', 'cancelled'] satisfies PurgeableStatus[];
const dayMs = 86_400_000;

/** @throws MillraceError `option-invalid` */
export function parseJobId(id: unknown): string {
  if (typeof id === 'string' && isUuid(id)) return id.toLowerCase();
  throw new MillraceError(
    'option-invalid',
    `job id: expected a full id such as 0199c0de-7a11-7abc-9def-0123456789ab, got ${describeValue(id)}`,
    { details: { got: id } },
  );
}

/**
 * The `tx` of a call that has no other option.
 *
 * @throws MillraceError `option-unknown`, `option-invalid`
 */
export function parseTransactionOption(call: string, options: unknown): unknown {
  if (options === undefined) return undefined;
  const problems = new OptionProblems(`options of ${call}`);
  const given = problems.takeObject(options);
  problems.checkKeys(given, ['tx']);
  problems.throwIfAny();
  return given['tx'];
}

/** @throws MillraceError as `edit`; `option-invalid` for a schema that does not answer at once */
export function editSync(
  queue: SyncTransactionQueue,
  { id, edit, context }: { readonly id: string; readonly edit: ResolvedEdit; readonly context: EditContext },
): ControlOutcome {
  const name = edit.hasInput ? queue.nameOf(id) : '';
  if (name === null) return 'not-found';
  const changes = editFor(edit, name, context);
  if (!(changes instanceof Promise)) return queue.change({ kind: 'edit', edit: changes }, id);
  // Its refusal, if it is one, is not what this is about.
  changes.catch(() => undefined);
  throw asyncSchema(name);
}

/** What operators do to jobs and queues. Nothing here is repeated by itself: the answer says what happened. */
export class Control {
  readonly #storage: () => Promise<Storage>;
  readonly #retentionDays: number;

  constructor(storage: () => Promise<Storage>, retentionDays: number) {
    this.#storage = storage;
    this.#retentionDays = retentionDays;
  }

  async change(kind: ControlKind, id: string, options?: TransactionOption): Promise<ControlOutcome> {
    const jobId = parseJobId(id);
    const tx = parseTransactionOption(kind, options);
    const storage = await this.#storage();
    if (tx === undefined) return storage[kind](jobId);
    const queue = await storage.within(tx);
    return queue.change({ kind }, jobId);
  }

  /** Reads the job first, since its name says which schema a new input must fit. */
  async edit(
    id: string,
    options: EditOptions,
    context: EditContext & { readonly within?: TransactionOption | undefined },
  ): Promise<ControlOutcome> {
    const jobId = parseJobId(id);
    const tx = parseTransactionOption('edit', context.within);
    const edit = resolveEdit(options);
    const storage = await this.#storage();
    if (tx === undefined) {
      const name = edit.hasInput ? ((await storage.job(jobId))?.name ?? null) : '';
      return name === null ? 'not-found' : storage.edit(jobId, await editFor(edit, name, context));
    }
    const queue = storage.within(tx);
    const name = edit.hasInput ? await queue.nameOf(jobId) : '';
    if (name === null) return 'not-found';
    return queue.change({ kind: 'edit', edit: await editFor(edit, name, context) }, jobId);
  }

  async retryBuried(options: RetryBuriedOptions = {}): Promise<{ retried: number; duplicates: number }> {
    const problems = new OptionProblems('options of retryBuried');
    const given = problems.takeObject(options);
    problems.checkKeys(given, ['queue']);
    const { queue } = given;
    const queueName =
      queue === undefined ? undefined : problems.attempt(() => parseQueueName(queue), undefined);
    problems.throwIfAny();
    const storage = await this.#storage();
    const request = { ...(queueName === undefined ? {} : { queue: queueName }), limit: rowsPerStep };
    let retried = 0;
    for (;;) {
      const step = await storage.retryBuried(request);
      retried += step.retried;
      // A step below the limit has seen them all; those it passed over are still there, so the last count holds.
      if (step.retried < rowsPerStep) return { retried, duplicates: step.duplicates };
    }
  }

  async setPaused(queue: string, isPaused: boolean): Promise<void> {
    const name = parseQueueName(queue);
    await (await this.#storage()).setPaused(name, isPaused);
  }

  async isPaused(queue: string): Promise<boolean> {
    const name = parseQueueName(queue);
    return (await (await this.#storage()).pausedQueues()).includes(name);
  }

  async purge(options: PurgeOptions = {}): Promise<number> {
    const problems = new OptionProblems('options of purge');
    const given = problems.takeObject(options);
    problems.checkKeys(given, ['olderThan', 'statuses']);
    const { olderThan, statuses = ['completed', 'cancelled'] } = given;
    const olderThanMs =
      olderThan === undefined
        ? this.#retentionDays * dayMs
        : problems.attempt(() => parseDuration(olderThan, { name: 'option "olderThan"' }), 0);
    if (
      !Array.isArray(statuses) ||
      statuses.length === 0 ||
      statuses.some((status) => !purgeable.includes(status))
    ) {
      problems.add(
        `option "statuses": expected a list of 'completed', 'buried' or 'cancelled', got ${describeValue(wrongStatus(statuses))}`,
      );
    }
    problems.throwIfAny();
    const storage = await this.#storage();
    const request = { statuses: statuses as PurgeableStatus[], olderThanMs, limit: rowsPerStep };
    let purged = 0;
    for (;;) {
      const step = await storage.purge(request);
      purged += step;
      if (step < rowsPerStep) return purged;
    }
  }
}

/** The one that is wrong, or what was given instead of a list of them. */
function wrongStatus(statuses: unknown): unknown {
  if (!Array.isArray(statuses) || statuses.length === 0) return statuses;
  return statuses.find((status) => !purgeable.includes(status as string));
}
