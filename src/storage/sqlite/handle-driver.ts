import type { HandleValue, SyncHandle } from '../transaction/handle.js';
import type { Driver } from './connection.js';

/** Runs one statement of a transaction of the user's, at once. */
export interface StatementRunner {
  rows(sql: string, values: readonly HandleValue[]): readonly (readonly unknown[])[];
  objects(sql: string, values: readonly HandleValue[]): readonly object[];
  changes(sql: string, values: readonly HandleValue[]): number;
}

/** A user's transaction in the form of the driver, so that all that is written for our own connection runs on it. */
export function driverOver(runner: StatementRunner | SyncHandle): Driver {
  return {
    inTransaction: true,
    prepare: (sql) => new HandleStatement(runner, sql),
    exec: (sql) => runner.changes(sql, []),
    close: () => undefined,
  };
}

class HandleStatement {
  readonly #runner: StatementRunner;
  readonly #sql: string;
  #shape: 'object' | 'pluck' | 'raw' = 'object';

  constructor(runner: StatementRunner, sql: string) {
    this.#runner = runner;
    this.#sql = sql;
  }

  pluck(): void {
    this.#shape = 'pluck';
  }

  raw(): void {
    this.#shape = 'raw';
  }

  run(...values: readonly unknown[]): { changes: number } {
    return { changes: Number(this.#runner.changes(this.#sql, listOf(values))) };
  }

  get(...values: readonly unknown[]): unknown {
    return this.all(...values)[0];
  }

  all(...values: readonly unknown[]): unknown[] {
    if (this.#shape === 'object') return this.#runner.objects(this.#sql, listOf(values)).map(plainObject);
    const rows = this.#runner.rows(this.#sql, listOf(values)).map((row) => row.map(plain));
    return this.#shape === 'raw' ? rows : rows.map(([first]) => first);
  }
}

/** The driver takes a list of values as one argument too. */
function listOf(values: readonly unknown[]): readonly HandleValue[] {
  return (Array.isArray(values[0]) ? values[0] : values) as readonly HandleValue[];
}

/** A connection may be set to give every integer as a BigInt, and ours all fit into a number; Prisma gives bare bytes. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function plainObject(row: object): object {
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plain(value)]));
}
