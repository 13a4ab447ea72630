/*
 * A transaction of the user's as a session of this storage: the same statements, written once, with what a foreign
 * connection asks for. Every parameter travels as text and is cast on the server, so that no driver has to know its
 * type; no statement is prepared under a name; begin, commit and rollback are the user's; nothing is tried again.
 */
import type { AsyncHandle } from '../transaction/handle.js';
import { columnsOf } from '../transaction/handle.js';
import { driverErrorIn, txAborted, txInvalid } from '../transaction/tx-errors.js';
import { textArrayLiteral } from './arrays.js';
import type { Session } from './context.js';
import { fromDriver } from './errors.js';
import type { Executor, Row, Statement } from './statement.js';

export class UserSession implements Session {
  readonly isPooled = false;
  readonly #handle: AsyncHandle;
  readonly #schema: string;

  onOpen(): void {
    // It is theirs, and open already.
  }

  constructor(handle: AsyncHandle, schema: string) {
    this.#handle = handle;
    this.#schema = schema;
  }

  async run({ name, text }: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      const { rows } = await this.#handle.run(castEach(text), values.map(textOf));
      return rows.map((row) => columnsOf(row).map(textOf));
    } catch (thrown) {
      throw this.#explained(thrown, name.replace('millrace_', ''));
    }
  }

  /** It is one already. */
  transaction<T>(_name: string, work: (tx: Executor) => Promise<T>): Promise<T> {
    return work(this);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Any error of a statement has ended the transaction: the server takes nothing more but a rollback. */
  #explained(thrown: unknown, doing: string): Error {
    const error = fromDriver(driverErrorIn(thrown), doing);
    if (error.code !== 'schema-missing') return txAborted(error, doing);
    return txInvalid({
      expected: `a transaction on the database that holds the jobs, in schema ${this.#schema}`,
      got: `${this.#handle.label} on a database without these tables`,
      fix: 'Give Millrace and your own connections the same database; this transaction can only be rolled back',
      cause: error,
    });
  }
}

const castTexts = new Map<string, string>();

/** `$2` → `$2::text`, `$1::uuid` → `$1::text::uuid`: whatever type the driver makes of a text, the server gets a text. */
function castEach(text: string): string {
  let cast = castTexts.get(text);
  if (cast === undefined) {
    cast = text.replaceAll(/\$\d+/g, (parameter) => `${parameter}::text`);
    castTexts.set(text, cast);
  }
  return cast;
}

/** Values as the server writes and reads them. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 't' : 'f';
  return Buffer.isBuffer(value) ? textArrayLiteral(value) : String(value);
}
