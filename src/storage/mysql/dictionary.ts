import { expectedGot, MillraceError } from '../../internal/errors.js';
import type { Session } from './session.js';
import { list, type Sql, sql } from './sql.js';

/**
 * Names and the small numbers that stand for them in every other table. Rows are never removed, so what was once read
 * holds; the cache is dropped with the connection, in case the tables were made anew.
 */
export class Dictionary {
  readonly #session: Session;
  readonly #table: Sql;
  readonly #idOf = new Map<string, number>();
  readonly #nameOf = new Map<number, string>();

  constructor(session: Session, table: Sql) {
    this.#session = session;
    this.#table = table;
  }

  forget(): void {
    this.#idOf.clear();
    this.#nameOf.clear();
  }

  /** The number of a name, which is given one if it has none. */
  async id(name: string): Promise<number> {
    const known = this.#idOf.get(name) ?? (await this.find(name));
    if (known !== undefined) return known;
    await this.#session.execute('naming', sql`insert ignore into ${this.#table} (name) values (?)`, [
      bytes(name),
    ]);
    const made = await this.find(name);
    if (made === undefined) throw tooLong(name);
    return made;
  }

  /** The number of each, in the same order. */
  ids(names: readonly string[]): number[] | Promise<number[]> {
    const known: number[] = [];
    for (const name of names) {
      const id = this.#idOf.get(name);
      if (id === undefined) return this.#ids(names);
      known.push(id);
    }
    return known;
  }

  /** The number of a name that has one. */
  async find(name: string): Promise<number | undefined> {
    const known = this.#idOf.get(name);
    if (known !== undefined) return known;
    // Index: by_name.
    const text = sql`select id from ${this.#table} where name = ?`;
    const { rows } = await this.#session.execute('looking up a name', text, [bytes(name)]);
    const id = rows[0]?.[0];
    if (typeof id !== 'number') return undefined;
    this.#keep(id, name);
    return id;
  }

  /** Makes `name` answer for these numbers. */
  async load(ids: Iterable<number>): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => !this.#nameOf.has(id));
    if (missing.length === 0) return;
    // Index: primary.
    const text = sql`select id, name from ${this.#table} where id in ${list(missing)}`;
    const [result] = await this.#session.send('reading names', text);
    for (const [id, name] of result?.rows ?? []) this.#keep(id as number, (name as Buffer).toString());
  }

  /** The name of a loaded number. */
  name(id: number): string {
    return this.#nameOf.get(id) ?? `#${id}`;
  }

  /** Every number there is. */
  async all(): Promise<number[]> {
    const [result] = await this.#session.send('reading names', sql`select id from ${this.#table}`);
    return (result?.rows ?? []).map(([id]) => id as number);
  }

  async #ids(names: readonly string[]): Promise<number[]> {
    const ids: number[] = [];
    for (const name of names) ids.push(await this.id(name));
    return ids;
  }

  #keep(id: number, name: string): void {
    this.#idOf.set(name, id);
    this.#nameOf.set(id, name);
  }
}

/** The column's width; `insert ignore` cuts what is longer. */
const mostBytes = 764;

const tooLong = (name: string): MillraceError =>
  new MillraceError(
    'option-invalid',
    expectedGot({ what: 'name', expected: `at most ${mostBytes} bytes of UTF-8`, got: name }),
  );

const bytes = (name: string): Buffer => Buffer.from(name, 'utf8');
