/*
 * The queue inside a transaction of the user's, on another connection to the same file. All that is written for our own
 * connection runs on theirs: at once where their handle answers at once, by `replay.ts` where it must be awaited. Each
 * call is a savepoint, so that one that fails leaves their transaction as it was. Other connections learn of the commit
 * by the WAL, as of any other.
 */
import { realpathSync, statSync } from 'node:fs';
import { MillraceError } from '../../internal/errors.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import type { ControlChange, ControlOutcome, Settlement, SettleOutcome } from '../settlement.js';
import type { AsyncHandle, SyncHandle } from '../transaction/handle.js';
import type { SyncTransactionQueue, TransactionQueue } from '../transaction/queue.js';
import { asyncHandle, syncHandle } from '../transaction/recognise.js';
import { driverErrorIn, txAborted, txInvalid } from '../transaction/tx-errors.js';
import { Connection, type Driver } from './connection.js';
import { changeMany } from './control.js';
import { enqueue } from './enqueue.js';
import { isSqliteError, toMillraceError } from './errors.js';
import { driverOver } from './handle-driver.js';
import { job } from './inspect.js';
import { isOrdinary } from './line-book.js';
import { isLong } from './payloads.js';
import { clockNow } from './queries/clock.js';
import { mainFile } from './queries/schema.js';
import { replay } from './replay.js';
import { settle } from './settle.js';
import { Transaction } from './transaction.js';

export interface WithinOptions {
  /** The file of the jobs. */
  readonly file: string;
  readonly offsetMs: () => number;
}

type Work<T> = (tx: Transaction) => T;

/** Jobs of one part where answers are awaited. */
const replayedJobs = 200;

export function withinSync(tx: unknown, options: WithinOptions): SyncTransactionQueue {
  const handle = syncHandle(tx, 'sqlite');
  const run = <T>(doing: string, work: Work<T>): T => runSync(handle, doing, work, options);
  return {
    enqueue: (jobs) => run('dispatch', (inner) => enqueue(inner, jobs)),
    settle: (settlement) => run('settleIn', (inner) => settleOne(inner, settlement)),
    change: (change, id) => run(change.kind, (inner) => changeOne(inner, change, id)),
    nameOf: (id) => run('edit', (inner) => job(inner.db, id)?.name ?? null),
  };
}

export function within(tx: unknown, options: WithinOptions): TransactionQueue {
  const handle = asyncHandle(tx, 'sqlite');
  const run = <T>(doing: string, parts: readonly Work<T>[]): Promise<T[]> =>
    runAwaited(handle, doing, parts, options);
  return {
    async enqueue(jobs) {
      const parts = partsOf(jobs).map((part) => (inner: Transaction) => enqueue(inner, part));
      return (await run<EnqueueOutcome[]>('dispatch', parts)).flat();
    },
    async settle(settlement) {
      const [outcome] = await run('settleIn', [(inner) => settleOne(inner, settlement)]);
      return outcome as SettleOutcome;
    },
    async change(change, id) {
      const [outcome] = await run(change.kind, [(inner) => changeOne(inner, change, id)]);
      return outcome as ControlOutcome;
    },
    async nameOf(id) {
      const [name] = await run('edit', [(inner) => job(inner.db, id)?.name ?? null]);
      return name ?? null;
    },
  };
}

function settleOne(tx: Transaction, settlement: Settlement): SettleOutcome {
  return settle(tx, [settlement])[0] as SettleOutcome;
}

function changeOne(tx: Transaction, change: ControlChange, id: string): ControlOutcome {
  return changeMany(tx, { change, ids: [id] })[0] as ControlOutcome;
}

function runSync<T>(handle: SyncHandle, doing: string, work: Work<T>, options: WithinOptions): T {
  const driver = driverOver(handle);
  try {
    checkFile(driver, options.file);
    handle.changes(savepoint, []);
    try {
      const answer = carryOut(driver, work, options);
      handle.changes(release, []);
      return answer;
    } catch (error) {
      tryUndo(handle, error, doing);
      throw error;
    }
  } catch (error) {
    throw explained(error, doing, options.file);
  }
}

/** A full disk and some other errors have rolled back the whole transaction by themselves. */
function tryUndo(handle: SyncHandle, error: unknown, doing: string): void {
  try {
    handle.changes(undo, []);
    handle.changes(release, []);
  } catch {
    // The savepoint is gone, and with it the transaction: that is what the user has to know, with the first cause.
    throw txAborted(driverErrorIn(error), doing);
  }
}

async function runAwaited<T>(
  handle: AsyncHandle,
  doing: string,
  parts: readonly Work<T>[],
  options: WithinOptions,
): Promise<T[]> {
  try {
    await replay(handle, (driver) => checkFile(driver, options.file));
    await handle.run(savepoint, []);
    try {
      const answers: T[] = [];
      for (const part of parts)
        answers.push(await replay(handle, (driver) => carryOut(driver, part, options)));
      await handle.run(release, []);
      return answers;
    } catch (error) {
      await tryUndoAwaited(handle, error, doing);
      throw error;
    }
  } catch (error) {
    throw explained(error, doing, options.file);
  }
}

async function tryUndoAwaited(handle: AsyncHandle, error: unknown, doing: string): Promise<void> {
  try {
    await handle.run(undo, []);
    await handle.run(release, []);
  } catch {
    // As in `tryUndo`.
    throw txAborted(driverErrorIn(error), doing);
  }
}

const savepoint = 'savepoint millrace';
const release = 'release savepoint millrace';
const undo = 'rollback to savepoint millrace';

/** With no numbers of kinds from before: their transaction may have been rolled back to where these did not exist. */
function carryOut<T>(driver: Driver, work: Work<T>, { file, offsetMs }: WithinOptions): T {
  const db = new Connection(driver, file);
  const tx = new Transaction(db, (db.value<number>(clockNow) ?? 0) + offsetMs());
  const answer = work(tx);
  tx.finish();
  return answer;
}

/** What takes several statements a job stands alone, so that no part is replayed too often. */
function partsOf(jobs: readonly NewJob[]): NewJob[][] {
  const parts: NewJob[][] = [];
  let isOpen = false;
  for (const job of jobs) {
    const isFree = job.unique === null && job.idempotency === null && job.after === null;
    const isPlain = isFree && isOrdinary(job) && !isLong(job.payload);
    const last = parts.at(-1);
    if (isOpen && isPlain && last !== undefined && last.length < replayedJobs) last.push(job);
    else parts.push([job]);
    isOpen = isPlain;
  }
  return parts;
}

/** Two names of one file are one file. */
function checkFile(driver: Driver, ours: string): void {
  const statement = driver.prepare(mainFile);
  statement.pluck();
  const theirs = String(statement.get() ?? '');
  if (theirs !== '' && isSameFile(theirs, ours)) return;
  throw txInvalid({
    expected: `a transaction on the SQLite file that holds the jobs, ${ours}`,
    got: theirs === '' ? 'one on a database in memory' : `one on ${theirs}`,
    fix: 'Give Millrace the same file as your own connection; both may be open at once',
  });
}

function isSameFile(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    const [one, other] = [statSync(realpathSync(a)), statSync(realpathSync(b))];
    return one.ino === other.ino && one.dev === other.dev;
  } catch {
    // One of them can't be looked at, so they are not the same by all that is known.
    return false;
  }
}

function explained(thrown: unknown, doing: string, file: string): MillraceError {
  const error = driverErrorIn(thrown);
  const mapped = toMillraceError(error, file);
  if (!isSqliteError(error) || error.code !== 'SQLITE_BUSY_SNAPSHOT') return mapped;
  // What was read before another one's commit can't be written upon any more.
  const why = `the SQLite file ${file} was written by others since your transaction began to read (${error.code}). Start transactions that write with "begin immediate"`;
  return txAborted(new MillraceError('database-locked', why, { cause: error }), doing);
}
