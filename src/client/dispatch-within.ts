/*
 * Dispatch inside a transaction of the user's: through none of what an ordinary dispatch shares and repeats, since what
 * fails there must fail to the user, whose transaction it is. No event is emitted: whether it was dispatched is decided by
 * a commit that this client doesn't see.
 */
import { MillraceError } from '../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';
import type { Storage } from '../storage/storage.js';
import type { TransactionQueue } from '../storage/transaction/queue.js';
import type { Dispatcher } from './dispatch.js';
import type { JobDefinition } from './job-definition.js';
import type { JobHandle } from './job-handle.js';
import type { StorageAccess } from './storage-access.js';

/** The `tx` of options that have one; the rest of them is looked at later. */
export function txOf(options: unknown): unknown {
  return typeof options === 'object' && options !== null ? (options as { tx?: unknown }).tx : undefined;
}

/** Where a dispatch inside a transaction leads. */
export interface WithinAccess {
  readonly current: Pick<Storage, 'within'> | null;
  get(): Promise<Pick<Storage, 'within'>>;
}

/** The queue inside the transaction; a wrong handle is refused before anything else is looked at. */
export async function queueWithin(access: WithinAccess, tx: unknown): Promise<TransactionQueue> {
  const storage = access.current ?? (await access.get());
  return storage.within(tx);
}

/** @throws MillraceError `tx-invalid`, `tx-aborted`; `closed` before the client was opened, which can't be done at once */
export function enqueueWithinSync(
  access: StorageAccess,
  tx: unknown,
  jobs: readonly NewJob[],
): EnqueueOutcome[] {
  return openStorage(access).withinSync(tx).enqueue(jobs);
}

export function openStorage(access: StorageAccess): NonNullable<StorageAccess['current']> {
  if (access.current !== null) return access.current;
  throw new MillraceError(
    'closed',
    'a call that is done when it returns: expected an open client, got one that has not been used yet. Run: await millrace.open(), before the transaction',
  );
}

/** One dispatch inside a transaction whose statements are done when they return. */
export function dispatchSync(
  dispatcher: Dispatcher,
  access: StorageAccess,
  [job, input, options]: [job: JobDefinition | string, input: unknown, options: object],
): JobHandle {
  const prepared = dispatcher.prepare(job, input, { options });
  if (prepared instanceof Promise) {
    // Its refusal, if it is one, is not what this is about.
    prepared.catch(() => undefined);
    throw asyncSchema(typeof job === 'string' ? job : job.name);
  }
  const [outcome] = enqueueWithinSync(access, txOf(options), [prepared]);
  return dispatcher.handleWithin(prepared, outcome as EnqueueOutcome);
}

export const asyncSchema = (name: string): MillraceError =>
  new MillraceError(
    'option-invalid',
    `job "${name}": expected a schema that answers at once, got one that is asynchronous. Such a job can't be dispatched or given an input inside a transaction whose statements are not awaited`,
    { details: { name } },
  );

/** Its result could not come before the commit, and the commit would wait for it. */
export const waitWithin = (): MillraceError =>
  new MillraceError(
    'option-invalid',
    'option "tx" of dispatchAndWait: a job runs only after your commit, so its result can\'t be awaited before. Dispatch with "tx", commit, then await handle.result()',
  );
