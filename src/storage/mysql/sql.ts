/**
 * The guard of the connection that takes several statements in one packet.
 *
 * A text sent there is made of three things only: text that stands in our source, integers, and hex literals. What a user
 * gives (payloads, names, keys, errors) can enter as nothing but the hex digits of its bytes, so that no value can end a
 * literal, whatever the server's modes and character sets. A string can't be put into a template: it is refused by the
 * compiler and again at run time. `sql.test.ts` holds hostile values against every door.
 */
import { expectedGot, MillraceError } from '../../internal/errors.js';

const proof: unique symbol = Symbol('made by the guard');

/** Text for the server, known to hold no value but integers and hex literals. Made only by the functions of this file. */
export class Sql {
  readonly text: string;

  constructor(text: string, madeBy: symbol) {
    if (madeBy !== proof) throw refused('text that the guard made', text);
    this.text = text;
  }
}

export type SqlValue = number | null | Sql | readonly (number | Sql)[];

/** A piece of SQL. Values become integers or hex literals; lists are joined by commas. */
export function sql(strings: TemplateStringsArray, ...values: SqlValue[]): Sql {
  // A template of our source is a frozen array with its raw form; a text that was built can't pass for one by mistake.
  if (!Object.isFrozen(strings) || !Array.isArray(strings.raw)) throw refused('a template literal', strings);
  let text = strings[0] ?? '';
  for (let index = 0; index < values.length; index += 1) {
    text += literal(values[index]) + strings[index + 1];
  }
  return new Sql(text, proof);
}

/** Pieces one after the other. */
export function join(parts: readonly Sql[], separator: ' ' | ', ' | ' or ' | ' and ' | ' union all '): Sql {
  return new Sql(parts.map((part) => ours(part).text).join(separator), proof);
}

/** The list in brackets, `(a, b)`. An empty one matches nothing. */
export function list(values: readonly (number | Sql)[]): Sql {
  return values.length === 0 ? new Sql('(null)', proof) : new Sql(`(${literal(values)})`, proof);
}

/** A whole number, as 0 or 1 for a truth. */
export function int(value: number | boolean): Sql {
  return new Sql(literal(Number(value)), proof);
}

/** A text as the hex digits of its UTF-8 bytes; null stays null. A lone surrogate becomes U+FFFD. */
export function hexText(value: string | null): Sql {
  if (value === null) return nothing;
  if (typeof value !== 'string') throw refused('a text', value);
  return new Sql(`x'${Buffer.from(value, 'utf8').toString('hex')}'`, proof);
}

/** Bytes as hex digits. */
export function hexBytes(value: Uint8Array): Sql {
  return new Sql(
    `x'${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}'`,
    proof,
  );
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The 16 bytes of an id.
 *
 * @throws MillraceError `option-invalid` when it is not a UUID
 */
export function hexId(id: string): Sql {
  if (typeof id !== 'string' || !uuidPattern.test(id))
    throw refused('a full id such as 0199c0de-7a11-7abc-9def-0123456789ab', id);
  return new Sql(
    `x'${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}'`,
    proof,
  );
}

const digitsPattern = /^(?:[0-9a-f]{2})+$/i;

/**
 * Hex digits as they are: lease tokens, incarnations, hashes.
 *
 * @throws MillraceError `option-invalid` when there is anything but `bytes` × 2 hex digits
 */
export function hexDigits(digits: string, bytes: number): Sql {
  if (typeof digits !== 'string' || digits.length !== bytes * 2 || !digitsPattern.test(digits)) {
    throw refused(`${bytes * 2} hex digits`, digits);
  }
  return new Sql(`x'${digits}'`, proof);
}

/**
 * A table name in backticks.
 *
 * @throws MillraceError `option-invalid` for anything but letters, digits and `_`
 */
export function identifier(name: string): Sql {
  if (!/^[A-Za-z0-9_]{1,64}$/.test(name))
    throw refused('1 to 64 letters, digits and _ as a table name', name);
  return new Sql(`\`${name}\``, proof);
}

/** Text of a migration, which is a file of this package, with nothing put into it but the names of tables. */
export function migrationText(text: string, prefix: string): Sql {
  return new Sql(text.replaceAll('`millrace_', identifier(`${prefix}x`).text.slice(0, -2)), proof);
}

/** Whether a text could only have come from the guard: outside hex literals no quote, backslash or comment. */
export function isBare(text: string): boolean {
  return !/['"\\#]|--|\/\*/.test(text.replace(/\bx'[0-9a-f]*'/gi, ''));
}

const nothing = new Sql('null', proof);

function literal(value: SqlValue | undefined): string {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw refused('a whole number', value);
    return String(value);
  }
  if (value === null) return 'null';
  if (Array.isArray(value))
    return (value as readonly (number | Sql)[]).map((each) => literal(each)).join(', ');
  return ours(value).text;
}

function ours(value: unknown): Sql {
  if (!(value instanceof Sql)) throw refused('an integer or hex literal', value);
  return value;
}

function refused(expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', expectedGot({ what: 'value for the database', expected, got }), {
    details: { got },
  });
}
