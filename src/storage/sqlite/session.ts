import { setImmediate as nextTurn } from 'node:timers/promises';
import { MillraceError } from '../../internal/errors.js';
import { type Logger, silentLogger } from '../../internal/logger.js';
import type { MigrationReport } from '../migrate/run-migrations.js';
import type { StorageOptions } from '../storage.js';
import { type Connection, openConnection } from './connection.js';
import { isBusy, toMillraceError } from './errors.js';
import { FileIdentity } from './file-identity.js';
import { WakeUps } from './notify.js';
import { whenUnlocked } from './patience.js';
import { clockNow } from './queries/clock.js';
import { migrate } from './schema.js';
import type { Transaction } from './transaction.js';
import { Writer } from './writer.js';

export interface SessionOptions extends StorageOptions {
  readonly file: string;
  readonly mustExist: boolean;
  readonly synchronous: 'FULL' | 'NORMAL';
}

const defaultStatementTimeoutMs = 30_000;

/** An open file: its connection, the way to read and the way to write. */
export class Session {
  readonly db: Connection;
  readonly wakeUps: WakeUps;
  readonly migrated: MigrationReport;
  readonly #identity: FileIdentity;
  readonly #writer: Writer;
  readonly #offsetMs: () => number;
  readonly #deadlineMs: number;
  #isClosed = false;

  private constructor(db: Connection, migrated: MigrationReport, options: SessionOptions) {
    const logger: Logger = options.logger ?? silentLogger;
    this.db = db;
    this.migrated = migrated;
    this.wakeUps = new WakeUps(db, logger);
    this.#offsetMs = () => options.clock?.offsetMs() ?? 0;
    this.#deadlineMs = options.statementTimeoutMs ?? defaultStatementTimeoutMs;
    this.#identity = new FileIdentity(db.file);
    this.#writer = new Writer({
      db,
      identity: this.#identity,
      offsetMs: this.#offsetMs,
      deadlineMs: this.#deadlineMs,
      onCommit: (awakened) => this.wakeUps.wake(awakened),
      logger,
    });
  }

  static async open(options: SessionOptions): Promise<Session> {
    const { file, statementTimeoutMs: deadlineMs = defaultStatementTimeoutMs } = options;
    const db = await whenUnlocked(() => openConnection(options), { name: 'open', file, deadlineMs });
    try {
      return new Session(db, await migrate(db, deadlineMs), options);
    } catch (error) {
      db.close();
      throw toMillraceError(error, db.file);
    }
  }

  write<T>(name: string, rows: number, run: (tx: Transaction) => T): Promise<T> {
    return this.#isClosed ? Promise.reject(this.#closed(name)) : this.#writer.write(name, rows, run);
  }

  /** Up to `total` rows by transactions of at most 1,000, until one finds less than it might have taken. */
  async writeInParts(
    name: string,
    total: number,
    run: (tx: Transaction, limit: number) => number,
  ): Promise<number> {
    let done = 0;
    while (done < total) {
      const limit = Math.min(1_000, total - done);
      const count = await this.write(name, limit, (tx) => run(tx, limit));
      done += count;
      if (count < limit) break;
      await nextTurn();
    }
    return done;
  }

  /** Everything it reads belongs to one moment. */
  read<T>(name: string, run: (db: Connection, nowMs: number) => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(this.#closed(name));
    try {
      this.#identity.require();
      return Promise.resolve(this.#snapshot(run));
    } catch (error) {
      if (!isBusy(error)) return Promise.reject(toMillraceError(error, this.db.file));
    }
    const attempt = (): { value: T } => ({ value: this.#snapshot(run) });
    return whenUnlocked(attempt, { name, file: this.db.file, deadlineMs: this.#deadlineMs }).then(
      ({ value }) => value,
    );
  }

  /** @throws MillraceError `database-gone` where a transaction of the user's would write into a file that nobody reads */
  requireFile(): void {
    this.#identity.require();
  }

  close(): void {
    this.#isClosed = true;
    this.wakeUps.close();
    this.#writer.close();
    this.db.close();
  }

  #closed(name: string): MillraceError {
    return new MillraceError('closed', `${name}: the storage of the SQLite file ${this.db.file} was closed`);
  }

  #snapshot<T>(run: (db: Connection, nowMs: number) => T): T {
    const { db } = this;
    db.run('begin');
    try {
      const answer = run(db, (db.value<number>(clockNow) ?? 0) + this.#offsetMs());
      db.run('commit');
      return answer;
    } catch (error) {
      db.rollback();
      throw error;
    }
  }
}
