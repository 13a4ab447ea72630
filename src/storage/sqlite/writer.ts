/*
 * The one way to write: short transactions, never blocking the event loop while another process has the file.
 *
 * A call that comes alone is carried out at once. Calls that come together share the next transaction and its commit:
 * the first of a burst runs at once (nobody knows yet that more will come), the rest is gathered until the event loop
 * has gone round. After a round that held several, the next calls are gathered from the first one on, so that n callers
 * in a loop cost one commit a round and not two. There is no timer in it.
 *
 * A transaction holds at most 1,000 rows (a single call may bring more), and between two of them the event loop goes
 * round: that is the gap in which another process gets the lock, and it also keeps a caller that awaits call after call
 * from starving timers and sockets.
 *
 * Where BEGIN finds the lock taken, nothing has happened: everything gathered stays, and is tried again, first in quick
 * succession (others hold the lock for a few ms at most), then with pauses of random length, until a call's deadline
 * has passed, which ends that call alone with `database-locked`.
 *
 * An operation that throws rolls the transaction back. If it was shared, each of its operations then gets one of its
 * own, so that one fails alone. Operations must therefore be repeatable: they change nothing but through `Transaction`.
 */
import { MillraceError } from '../../internal/errors.js';
import type { Logger } from '../../internal/logger.js';
import type { Connection } from './connection.js';
import { isBusy, toMillraceError } from './errors.js';
import type { FileIdentity } from './file-identity.js';
import { Pause } from './pause.js';
import { clockNow } from './queries/clock.js';
import { Transaction } from './transaction.js';

/** Longer transactions gain nothing [measured at 1,000, 5,000 and 20,000] and keep others waiting. */
const maxRows = 1_000;
/** How long calls may be carried out at once before the event loop has to go round. */
const directMs = 1;

interface Operation {
  readonly name: string;
  readonly rows: number;
  readonly run: (tx: Transaction) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: MillraceError) => void;
  readonly deadlineAt: number;
  /** It shared a transaction that failed. */
  isAlone: boolean;
}

export interface WriterOptions {
  readonly db: Connection;
  readonly identity: FileIdentity;
  readonly offsetMs: () => number;
  readonly deadlineMs: number;
  /** Told in which queues something may have become claimable; null = in any. */
  readonly onCommit: (awakened: ReadonlySet<string> | null) => void;
  readonly logger: Logger;
}

export class Writer {
  readonly #options: WriterOptions;
  readonly #pause = new Pause();
  #queue: Operation[] = [];
  #isScheduled = false;
  #isInBurst = false;
  #gatheredInBurst = false;
  #expectsMore = false;
  #turnStartedAt: number | null = null;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Runs the operation in a transaction, by itself or with others, and resolves after the commit. */
  write<T>(name: string, rows: number, run: (tx: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const deadlineAt = performance.now() + this.#options.deadlineMs;
      const done = resolve as (value: unknown) => void;
      this.#queue.push({ name, rows, run, resolve: done, reject, deadlineAt, isAlone: false });
      if (this.#mayRunNow()) this.#runNow();
      else this.#schedule();
    });
  }

  /** Carries out what was gathered, once, and refuses what the lock keeps from being done. */
  close(): void {
    while (this.#queue.length > 0) {
      if (this.#transact() === 'done') continue;
      for (const { reject } of this.#queue.splice(0)) {
        reject(
          new MillraceError(
            'closed',
            'the storage was closed while the database was held by another connection',
          ),
        );
      }
    }
    this.#pause.cancel();
  }

  #mayRunNow(): boolean {
    if (this.#queue.length > 1 || this.#isInBurst || this.#expectsMore || this.#isScheduled) return false;
    return this.#turnStartedAt === null || performance.now() - this.#turnStartedAt < directMs;
  }

  #runNow(): void {
    this.#isInBurst = true;
    queueMicrotask(() => {
      this.#isInBurst = false;
    });
    if (this.#turnStartedAt === null) {
      this.#turnStartedAt = performance.now();
      setImmediate(() => {
        this.#turnStartedAt = null;
      });
    }
    if (this.#transact() === 'busy') this.#waitForLock();
  }

  #schedule(): void {
    this.#gatheredInBurst ||= this.#isInBurst;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#round());
  }

  #round(): void {
    this.#isScheduled = false;
    const gathered = this.#queue.length;
    if (gathered === 0) return;
    this.#expectsMore = gathered > 1 || this.#gatheredInBurst;
    this.#gatheredInBurst = false;
    if (this.#transact() === 'busy') this.#waitForLock();
    else {
      this.#pause.reset();
      if (this.#queue.length > 0) this.#schedule();
    }
  }

  #waitForLock(): void {
    this.#dropOverdue();
    if (this.#queue.length === 0) return;
    this.#isScheduled = true;
    this.#pause.wait(() => this.#round());
  }

  #dropOverdue(): void {
    const now = performance.now();
    const overdue = this.#queue.filter(({ deadlineAt }) => deadlineAt <= now);
    if (overdue.length === 0) return;
    this.#queue = this.#queue.filter(({ deadlineAt }) => deadlineAt > now);
    const { db, deadlineMs } = this.#options;
    for (const { name, reject } of overdue) {
      reject(
        new MillraceError(
          'database-locked',
          `${name}: another connection held the SQLite file ${db.file} for ${deadlineMs} ms. ` +
            'End the long transaction (millrace doctor shows it); then try again',
          { details: { file: db.file, deadlineMs } },
        ),
      );
    }
  }

  #nextBatch(): Operation[] {
    let rows = 0;
    let count = 0;
    for (const operation of this.#queue) {
      if (count > 0 && (operation.isAlone || rows + operation.rows > maxRows)) break;
      rows += operation.rows;
      count += 1;
      if (operation.isAlone) break;
    }
    return this.#queue.slice(0, count);
  }

  /** One transaction of what stands first in the queue. `busy`: nothing happened, all of it is still there. */
  #transact(): 'done' | 'busy' {
    const { db, identity, offsetMs, onCommit } = this.#options;
    const batch = this.#nextBatch();
    try {
      identity.require();
      db.run('begin immediate');
    } catch (error) {
      if (isBusy(error)) return 'busy';
      this.#failed(batch, error);
      return 'done';
    }
    let answers: unknown[];
    let tx: Transaction;
    try {
      tx = new Transaction(db, (db.value<number>(clockNow) ?? 0) + offsetMs());
      answers = batch.map(({ run }) => run(tx));
      tx.finish();
      db.run('commit');
    } catch (error) {
      db.rollback();
      if (isBusy(error)) return 'busy';
      this.#failed(batch, error);
      return 'done';
    }
    this.#queue.splice(0, batch.length);
    for (const [index, { resolve }] of batch.entries()) resolve(answers[index]);
    if (tx.wakesAll) onCommit(null);
    else if (tx.awakened.size > 0) onCommit(tx.awakened);
    return 'done';
  }

  #failed(batch: readonly Operation[], error: unknown): void {
    if (batch.length > 1) {
      for (const operation of batch) operation.isAlone = true;
      this.#options.logger.debug('storage: a shared transaction failed, its parts are tried one by one', {
        parts: batch.length,
      });
      return;
    }
    this.#queue.splice(0, batch.length);
    for (const { reject } of batch) reject(toMillraceError(error, this.#options.db.file));
  }
}
