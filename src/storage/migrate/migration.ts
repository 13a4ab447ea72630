/*
 * Migrations are numbered SQL files, one folder per engine: `0001_jobs.sql`, `0002_….sql`, without gaps.
 * Each begins with comment lines; one of them is `-- oldest-code: N`.
 *
 * A version of the code is known by the number of migrations it brings, 1 … N. It runs on the schemas N−1 and N (so that
 * code and schema can be rolled out in either order), and on newer ones for as long as their `oldest-code` is not above
 * N. A migration is therefore first expand, and contracts only when the code that needed the old shape is two back; one
 * that can't wait says so by its `oldest-code`.
 */

export interface Migration {
  /** From 1, without gaps. */
  readonly number: number;
  /** From the file name, with spaces. */
  readonly title: string;
  /** The whole text of the file. */
  readonly sql: string;
  /** The oldest code (by its number of migrations) that still works once this one is applied. */
  readonly oldestCode: number;
}

/** What the database says about itself. */
export interface SchemaState {
  /** The newest migration that was applied. */
  readonly version: number;
  /** The `oldestCode` of that one. */
  readonly oldestCode: number;
}
