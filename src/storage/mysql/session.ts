/**
 * One connection as the rest of the engine sees it: calls are worked off one after the other in the order they were made,
 * each with a deadline from the moment it was made; a connection that broke is replaced by the next call; conflicts with
 * other transactions are tried again with jitter, the whole transaction each time.
 *
 * A transaction that spans several round trips has the connection for itself until it ends. After an error inside one
 * the connection is rolled back by hand, since a packet of several statements stops in the middle; where that fails too
 * it is dropped.
 *
 * An idle connection does not keep the process alive: a program that has dispatched ends when it has nothing else to do.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { formatDuration } from '../../internal/duration.js';
import { MillraceError } from '../../internal/errors.js';
import type { Logger } from '../../internal/logger.js';
import { connectTimeoutMs, type DriverConnection, type Result, type Value } from './driver.js';
import { endsConnection, isConflict, isWithoutTables, mapDriverError } from './errors.js';
import { join, type Sql, sql } from './sql.js';

export interface SessionOptions {
  /** For logs: `main connection`. */
  readonly name: string;
  /** Within so many ms. */
  readonly connect: (timeoutMs: number) => Promise<DriverConnection>;
  /** Whether it takes several statements in one packet. */
  readonly several: boolean;
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
  /** The tables are not there (any more). */
  readonly onMissing: () => void;
}

/** A transaction that is under way. */
export interface Transaction {
  /** Sends the statements in one packet; their results in the same order. */
  send(...statements: readonly Sql[]): Promise<Result[]>;
  /** The same with the commit in the packet; nothing may follow. A transaction without it is committed at its end. */
  last(...statements: readonly Sql[]): Promise<Result[]>;
  /** Set where the transaction is the user's, at whatever isolation they have chosen (`user-session.ts`). */
  readonly foreign?: ForeignTransaction;
}

export interface ForeignTransaction {
  /** A read of what is committed now, by a connection of ours: theirs may read a snapshot. */
  beside(statement: Sql): Promise<Result>;
  /** Jobs that this transaction has written: of these it knows best itself. */
  readonly touched: Set<string>;
}

interface Turn {
  readonly doing: string;
  readonly endsAt: number;
}

const start = sql`start transaction`;
const commit = sql`commit`;
/** Full jitter below min(this × 2^n, 16 times this); from the length of one of our transactions, about 5 ms. */
const retryBaseMs = 5;
/** The n-th wait, at most 16 × the base. */
const longestDoubling = 4;

export class Session {
  readonly #options: SessionOptions;
  #driver: DriverConnection | undefined;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Connects if need be. */
  connect(): Promise<void> {
    return this.#turn('connecting', async (turn) => {
      await this.#connected(turn);
    });
  }

  /** Statements in one packet, each committed by itself. */
  send(doing: string, ...statements: readonly Sql[]): Promise<Result[]> {
    return this.#turn(doing, (turn) => this.#retried(turn, () => this.#packet(turn, statements)));
  }

  /** Statements in one packet and one transaction: one round trip. */
  sendTransaction(doing: string, statements: readonly Sql[]): Promise<Result[]> {
    return this.#turn(doing, (turn) =>
      this.#retried(turn, async () => {
        const results = await this.#guarded(turn, () => this.#packet(turn, [start, ...statements, commit]));
        return results.slice(1, -1);
      }),
    );
  }

  /** Work of several round trips in one transaction, done again from its start on a conflict. */
  transaction<T>(doing: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#turn(doing, (turn) =>
      this.#retried(turn, () =>
        this.#guarded(turn, async () => {
          let driver: DriverConnection | undefined;
          let isOver = false;
          const send = async (...statements: readonly Sql[]): Promise<Result[]> => {
            const isFirst = driver === undefined;
            // On another connection the rest of the work would run without its beginning.
            if (!isFirst && (driver !== this.#driver || driver?.isBroken === true)) throw lost(doing);
            const results = await this.#together(turn, isFirst ? [start, ...statements] : statements);
            driver ??= this.#driver;
            return isFirst ? results.slice(1) : results;
          };
          const last = async (...statements: readonly Sql[]): Promise<Result[]> => {
            const results = await send(...statements, commit);
            isOver = true;
            return results.slice(0, -1);
          };
          const answer = await work({ send, last });
          if (!isOver) await send(commit);
          return answer;
        }),
      ),
    );
  }

  /** One prepared statement: the only way for values that are no integers or bytes of ours. */
  execute(doing: string, text: Sql, values: readonly Value[]): Promise<Result> {
    return this.#turn(doing, (turn) =>
      this.#retried(turn, () => this.#timed(turn, (driver) => driver.execute(text.text, values))),
    );
  }

  /** Ends the connection; calls in line fail with `closed`. Never throws. */
  async close(): Promise<void> {
    this.#closed = true;
    const driver = this.#driver;
    this.#driver = undefined;
    await driver?.end();
  }

  /** Lines up; gives up in the line too. */
  #turn<T>(doing: string, work: (turn: Turn) => Promise<T>): Promise<T> {
    const turn = { doing, endsAt: performance.now() + this.#options.statementTimeoutMs };
    const done = this.#tail.then(() => {
      if (this.#closed) throw closed(doing);
      if (performance.now() >= turn.endsAt) throw this.#late(doing);
      return work(turn);
    });
    this.#waiting += 1;
    if (this.#waiting === 1) this.#driver?.holdProcess(true);
    // The next in line doesn't care how this one ended; its caller does.
    this.#tail = done.then(this.#rest, this.#rest);
    return done;
  }

  readonly #rest = (): void => {
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#driver?.holdProcess(false);
  };

  async #retried<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        const waitMs = Math.random() * retryBaseMs * 2 ** Math.min(tries, longestDoubling);
        if (!isConflict(error) || performance.now() + waitMs >= turn.endsAt) throw error;
        this.#options.logger.debug(`${turn.doing}: tried again after a conflict`, { tries: tries + 1 });
        await pause(waitMs);
      }
    }
  }

  /** Leaves no transaction open behind an error. */
  async #guarded<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#rollback(turn);
      throw error;
    }
  }

  async #rollback(turn: Turn): Promise<void> {
    if (this.#driver === undefined) return;
    try {
      // A turn whose time is over still has to tidy up behind itself.
      const late = {
        doing: `${turn.doing}, rollback`,
        endsAt: performance.now() + this.#options.statementTimeoutMs,
      };
      await this.#packet(late, [sql`rollback`]);
    } catch (error) {
      this.#drop(error);
    }
  }

  /** In one packet where the connection takes several statements. */
  async #together(turn: Turn, statements: readonly Sql[]): Promise<Result[]> {
    if (this.#options.several) return this.#packet(turn, statements);
    const results: Result[] = [];
    let driver: DriverConnection | undefined;
    for (const statement of statements) {
      if (driver !== undefined && driver !== this.#driver) throw lost(turn.doing);
      results.push(...(await this.#packet(turn, [statement])));
      driver = this.#driver;
    }
    return results;
  }

  #packet(turn: Turn, statements: readonly Sql[]): Promise<Result[]> {
    const text = statements.length === 1 ? join(statements, ' ').text : textOf(statements);
    return this.#timed(turn, (driver) => driver.query(text, statements.length));
  }

  async #timed<T>(turn: Turn, work: (driver: DriverConnection) => Promise<T>): Promise<T> {
    const driver = await this.#connected(turn);
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#late(turn.doing)), Math.max(turn.endsAt - performance.now(), 1));
    });
    try {
      return await Promise.race([work(driver), tooLate]);
    } catch (thrown) {
      const error = mapDriverError(thrown, turn.doing);
      if (isWithoutTables(error)) this.#options.onMissing();
      if (endsConnection(error) || driver.isBroken) this.#drop(error);
      throw driver.isBroken && error.code === 'query-failed' ? lost(turn.doing, error) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #connected(turn: Turn): Promise<DriverConnection> {
    if (this.#driver !== undefined && !this.#driver.isBroken) return this.#driver;
    if (this.#driver !== undefined) this.#drop(undefined);
    const leftMs = Math.max(turn.endsAt - performance.now(), 1);
    const driver = await this.#options.connect(Math.min(leftMs, connectTimeoutMs));
    if (this.#closed) {
      driver.drop();
      throw closed('connecting');
    }
    this.#driver = driver;
    return driver;
  }

  #drop(why: unknown): void {
    this.#options.logger.warn(`${this.#options.name} lost, the next call opens a new one`, { error: why });
    this.#driver?.drop();
    this.#driver = undefined;
  }

  #late(doing: string): MillraceError {
    const { statementTimeoutMs } = this.#options;
    return new MillraceError(
      'deadline-exceeded',
      `MySQL or MariaDB, ${doing}: not done within ${formatDuration(statementTimeoutMs)}`,
      {
        details: { doing, deadlineMs: statementTimeoutMs },
      },
    );
  }
}

function textOf(statements: readonly Sql[]): string {
  let text = '';
  for (const statement of statements) text += `${join([statement], ' ').text};\n`;
  return text.slice(0, -2);
}

const closed = (doing: string): MillraceError =>
  new MillraceError(
    'closed',
    `MySQL or MariaDB, ${doing}: expected an open storage, got a call after close()`,
  );

const lost = (doing: string, cause?: MillraceError): MillraceError =>
  new MillraceError(
    'connection-lost',
    cause?.message ?? `MySQL or MariaDB, ${doing}: the connection broke in the middle`,
    { cause },
  );
