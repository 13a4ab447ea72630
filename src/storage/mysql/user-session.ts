/*
 * A transaction of the user's as a session of this storage: the same statements, one round trip each, since their
 * connection may not take several at once. Statements say `@now` for the time; here the number is put in its place, since
 * a variable would stay behind in their session. Each piece of work is a savepoint, so that one that fails leaves their
 * transaction as it was; where the savepoint is gone, the server has rolled back the whole, as after a deadlock.
 */
import { type AsyncHandle, columnsOf, type HandleAnswer } from '../transaction/handle.js';
import { driverErrorIn, txAborted, txInvalid } from '../transaction/tx-errors.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import { mapDriverError } from './errors.js';
import type { ForeignTransaction, Transaction } from './session.js';
import { type Sql, sql } from './sql.js';

const setsNow = 'set @now = ';

export class UserSession {
  readonly #handle: AsyncHandle;
  readonly #context: Context;
  readonly #foreign: ForeignTransaction;
  #nowMs = 0;

  constructor(handle: AsyncHandle, context: Context, touched: Set<string>) {
    this.#handle = handle;
    this.#context = context;
    this.#foreign = {
      touched,
      beside: async (statement) => {
        const [result] = await context.side.send('reading beside a transaction', statement);
        return result as Result;
      },
    };
  }

  async send(doing: string, ...statements: readonly Sql[]): Promise<Result[]> {
    const results: Result[] = [];
    for (const statement of statements) results.push(await this.#one(doing, statement));
    return results;
  }

  sendTransaction(doing: string, statements: readonly Sql[]): Promise<Result[]> {
    return this.transaction(doing, ({ send }) => send(...statements));
  }

  async transaction<T>(doing: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#begin(doing);
    try {
      const answer = await work({
        send: (...statements) => this.send(doing, ...statements),
        last: (...statements) => this.send(doing, ...statements),
        foreign: this.#foreign,
      });
      await this.#run(doing, 'release savepoint millrace');
      return answer;
    } catch (error) {
      await this.#undo(doing, error);
      throw error;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #begin(doing: string): Promise<void> {
    const { isInTransaction } = await this.#run(doing, 'savepoint millrace');
    if (isInTransaction !== false) return;
    throw txInvalid({
      got: `${this.#handle.label} that is in no transaction`,
      fix: 'Run beginTransaction() on it first and await that, then pass the same connection',
    });
  }

  async #undo(doing: string, error: unknown): Promise<void> {
    try {
      await this.#handle.run('rollback to savepoint millrace', []);
      await this.#handle.run('release savepoint millrace', []);
    } catch {
      // The savepoint is gone, and with it the transaction: that is what the user has to know, with the first cause.
      throw txAborted(error, doing);
    }
  }

  async #one(doing: string, { text }: Sql): Promise<Result> {
    if (text === 'do 0') return { rows: [], changed: 0 };
    if (text === 'select @now') return { rows: [[this.#nowMs]], changed: 0 };
    if (text.startsWith(setsNow)) return this.#readNow(doing, text.slice(setsNow.length));
    const { rows, changed } = await this.#run(doing, text.replaceAll('@now', String(this.#nowMs)));
    return { rows: rows.map(plainRow), changed };
  }

  async #readNow(doing: string, expression: string): Promise<Result> {
    const { rows } = await this.#run(doing, `select ${expression} as now, database() as base`);
    const [now, base] = columnsOf(rows[0] ?? []);
    this.#nowMs = Number(now);
    await this.#refuseOther(textOf(base));
    return { rows: [], changed: 0 };
  }

  async #refuseOther(theirs: string): Promise<void> {
    const ours = await databaseOf(this.#context);
    if (theirs.toLowerCase() === ours.toLowerCase()) return;
    throw txInvalid({
      expected: `a transaction on the database that holds the jobs, ${ours}`,
      got:
        theirs === ''
          ? `${this.#handle.label} without a database`
          : `${this.#handle.label} on database ${theirs}`,
      fix: 'Give Millrace and your own connections the same database',
    });
  }

  async #run(doing: string, text: string): Promise<HandleAnswer> {
    try {
      return await this.#handle.run(text, []);
    } catch (thrown) {
      throw this.#explained(thrown, doing);
    }
  }

  #explained(thrown: unknown, doing: string): Error {
    const error = mapDriverError(driverErrorIn(thrown), doing);
    switch (error.code) {
      case 'schema-missing':
        return txInvalid({
          expected: 'a transaction on the database that holds the jobs',
          got: `${this.#handle.label} on a database without these tables`,
          fix: 'Give Millrace and your own connections the same database',
          cause: error,
        });
      case 'transaction-conflict':
      case 'connection-lost':
        return txAborted(error, doing);
      default:
        return error;
    }
  }
}

const databases = new WeakMap<object, string>();

async function databaseOf(context: Context): Promise<string> {
  let name = databases.get(context.side);
  if (name === undefined) {
    const [result] = await context.side.send(
      'reading the name of the database',
      sql`select database() as base`,
    );
    name = textOf(result?.rows[0]?.[0]);
    databases.set(context.side, name);
  }
  return name;
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : Buffer.isBuffer(value) ? value.toString() : String(value);

/** Columns of texts; every other one holds integers or bytes, whatever a driver was told to make of them. */
const textColumns: ReadonlySet<string> = new Set(['reason', 'errors']);

function plainRow(row: unknown): readonly unknown[] {
  if (Array.isArray(row)) return row;
  return Object.entries(row as object).map(([name, value]) =>
    typeof value === 'string' && !textColumns.has(name) ? Number(value) : plain(value),
  );
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value;
}
