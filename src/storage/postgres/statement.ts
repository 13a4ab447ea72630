/** One statement: its text, and the name under which a session keeps it prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A row as the server sent it: texts and nulls in the order of the select list. */
export type Row = readonly (string | null)[];

/** Runs statements: on its own (each a transaction of its own), or inside one transaction. */
export interface Executor {
  run(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/** The quoted schema, as it stands in front of every table. */
export type Schema = string;

/**
 * The server's clock in ms plus a bound offset. Always a subselect: the bare call is not stable, so it could not be an
 * index condition, and `now()` stands still for the whole of a transaction.
 */
export const nowMs = (offset: string): string =>
  `(select (extract(epoch from clock_timestamp()) * 1000)::bigint + ${offset}::bigint)`;

/**
 * `column = value` for a value of another relation, in a form that can only be an index probe per row of that one.
 * As a plain equality it is also a join condition, and a plan made while the table was empty (an idle worker's) then
 * joins by reading the whole index; it is kept, and still read when a million rows have come.
 */
export const probe = (column: string, value: string): string => `${column} = any(array[${value}])`;

export const intOf = (value: string | null | undefined): number => Number(value ?? 0);
export const intOrNull = (value: string | null | undefined): number | null =>
  value === null || value === undefined ? null : Number(value);
export const boolOf = (value: string | null | undefined): boolean => value === 't';
export const textOf = (value: string | null | undefined): string => value ?? '';
