import { describeValue } from './describe-value.js';
import { expectedGot, MillraceError } from './errors.js';
import { describeFailure } from './failure.js';
import {
  isPlainJson,
  type JsonBudget,
  type JsonProblem,
  JsonWalkError,
  omitted,
  ThrownWhileRead,
  toPlainJson,
} from './json-walk.js';

/**
 * How many nodes and characters a walk takes: beyond the limit, so that the message can say how large
 * a value is, but not so far that the walk of a value that unfolds without end is felt.
 */
function walkBudget(maxBytes: number): JsonBudget {
  return { left: Math.max(4 * maxBytes, 1024 * 1024) };
}

export interface EncodePayloadOptions {
  /** The greatest size of the JSON text, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** What is being encoded, for the message: `input of job "thumbnail"`. */
  readonly what: string;
}

/**
 * The JSON text of an input, strictly: what JSON cannot tell is an error, never left out quietly.
 *
 * | value | becomes |
 * |---|---|
 * | undefined property | left out |
 * | undefined or a hole in an array | null |
 * | undefined as a whole | null |
 * | Date, anything with toJSON | what its toJSON answers |
 * | NUL, lone surrogates in a text | escapes of well-formed JSON |
 * | BigInt, function, symbol, NaN, Infinity, invalid Date, cycle | `payload-invalid` |
 * | Map, Set, Error, RegExp, Promise, ArrayBuffer, typed array | `payload-invalid` |
 *
 * @throws MillraceError `payload-invalid` naming the path, `payload-too-large` with both sizes
 */
export function encodePayload(value: unknown, options: EncodePayloadOptions): string {
  const { maxBytes, what } = options;
  const text = strictText(value, options);
  if (text.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes) throw tooLarge(what, String(bytes), maxBytes);
  }
  return text;
}

function strictText(value: unknown, options: EncodePayloadOptions): string {
  const budget = walkBudget(options.maxBytes);
  const moreThan = `more than ${budget.left}`;
  try {
    if (isPlainQuietly(value, budget)) return JSON.stringify(value) ?? 'null';
    if (budget.left < 0) throw new JsonWalkError('too-large');
    return JSON.stringify(toPlainJson(value, refuse, walkBudget(options.maxBytes)));
  } catch (error) {
    if (error instanceof JsonWalkError && error.at !== 'too-large') {
      const { path, problem } = error.at;
      throw new MillraceError(
        'payload-invalid',
        `${options.what}: ${path}: ${problem}. Convert it to a text, number, array or plain object first.`,
        { details: { path, problem } },
      );
    }
    // Used up the budget, or outgrew the longest text there can be.
    throw tooLarge(options.what, moreThan, options.maxBytes);
  }
}

function isPlainQuietly(value: unknown, budget: JsonBudget): boolean {
  try {
    return isPlainJson(value, budget) && budget.left >= 0;
  } catch {
    // A getter or proxy threw: the slow walk says where.
    return false;
  }
}

function refuse(problem: JsonProblem): never {
  throw new JsonWalkError(problem);
}

function tooLarge(what: string, bytes: string, maxBytes: number): MillraceError {
  return new MillraceError(
    'payload-too-large',
    `${what}: its JSON is ${bytes} bytes, the limit is ${maxBytes}. Keep the data in a file or a table and pass a reference to it.`,
    { details: { bytes, maxBytes } },
  );
}

/** A result as it is kept, and what had to be changed for that. */
export interface EncodedResult {
  readonly text: string;
  /** Says what was changed, in one sentence; absent when nothing was. */
  readonly note?: string;
}

/**
 * The JSON text of a result, leniently: the work is done, so whatever it returned is kept as well
 * as it can be. Never throws. BigInt becomes its decimal text, a cycle `"[Circular]"`, functions
 * and symbols are left out, NaN and Infinity become null, Map and Set arrays, an Error its name
 * and message, what throws while it is read `"[Threw: …]"`. A text above the limit becomes
 * `{"$truncated":true,"bytes":n,"head":"…"}`, itself within the limit.
 */
export function encodeResult(value: unknown, options: { readonly maxBytes: number }): EncodedResult {
  const { maxBytes } = options;
  const changes: string[] = [];
  const text = lenientText(value, changes, maxBytes);
  const bytes = text === undefined ? walkBudget(maxBytes).left : Buffer.byteLength(text);
  if (text !== undefined && bytes <= maxBytes) {
    return changes.length === 0 ? { text } : { text, note: changeNote(changes) };
  }
  const size = `${text === undefined ? 'more than ' : ''}${bytes} bytes`;
  changes.unshift(`cut, ${size} are over the limit of ${maxBytes}`);
  return { text: truncated(text ?? '', bytes, maxBytes), note: changeNote(changes) };
}

function lenientText(value: unknown, changes: string[], maxBytes: number): string | undefined {
  try {
    const plainBudget = walkBudget(maxBytes);
    if (isPlainQuietly(value, plainBudget)) return JSON.stringify(value) ?? 'null';
    if (plainBudget.left < 0) return undefined;
    const budget = walkBudget(maxBytes);
    const onProblem = ({ path, problem }: JsonProblem, part: unknown): unknown => {
      changes.push(`${path}: ${problem}`);
      return standIn(part, problem, budget);
    };
    return JSON.stringify(toPlainJson(value, onProblem, budget));
  } catch {
    // Only a value that is too large to be walked or written ends here.
    return undefined;
  }
}

function standIn(value: unknown, problem: string, budget: JsonBudget): unknown {
  if (value instanceof ThrownWhileRead) return `[Threw: ${value.text}]`;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return omitted;
  if (typeof value === 'number' || value instanceof Date) return null;
  if (problem.includes('cycle')) return '[Circular]';
  if (value instanceof Error) {
    const { name, message, code } = describeFailure(value);
    return { name, message, ...(code === undefined ? {} : { code }) };
  }
  return collectionStandIn(value, budget);
}

function collectionStandIn(value: unknown, budget: JsonBudget): unknown {
  const inner = (): unknown => omitted;
  if (value instanceof Map) return toPlainJson([...value], inner, budget);
  if (value instanceof Set) return toPlainJson([...value], inner, budget);
  if (ArrayBuffer.isView(value)) return `[${value.constructor.name} of ${value.byteLength} bytes]`;
  if (value instanceof RegExp) return String(value);
  return `[${describeValue(value)}]`;
}

const longestNote = 500;

function changeNote(changes: readonly string[]): string {
  const more = changes.length > 3 ? `; and ${changes.length - 3} more` : '';
  return `${changes.slice(0, 3).join('; ').slice(0, longestNote)}${more}`;
}

const longestHead = 16 * 1024;
const wrapperBytes = 100;
/** A UTF-16 unit of JSON text takes at most this many bytes when quoted as JSON once more. */
const bytesPerUnit = 3;

function truncated(text: string, bytes: number, maxBytes: number): string {
  const units = Math.floor(Math.max(maxBytes - wrapperBytes, 0) / bytesPerUnit);
  const head = text.slice(0, Math.min(units, longestHead)).replace(/[\uD800-\uDBFF]$/, '');
  return JSON.stringify({ $truncated: true, bytes, head });
}

/** What stands for a result that was too large to be stored. */
export interface TruncatedResult {
  /** The size it had as JSON, at least. */
  readonly bytes: number;
  /** The beginning of its JSON. */
  readonly head: string;
}

/** What `encodeResult` left of a result that was above the limit; null for every other value. */
export function truncatedResult(value: unknown): TruncatedResult | null {
  if (typeof value !== 'object' || value === null || !('$truncated' in value)) return null;
  const { $truncated, bytes, head } = value as Record<string, unknown>;
  const isOne = $truncated === true && typeof bytes === 'number' && typeof head === 'string';
  return isOne && Object.keys(value).length === 3 ? { bytes, head } : null;
}

/**
 * The value of a JSON text.
 *
 * @throws MillraceError `json-invalid` naming `what`, with the parser's own words
 */
export function decodeJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new MillraceError(
      'json-invalid',
      expectedGot({
        what,
        expected: 'JSON',
        got: text,
        fix: error instanceof Error ? `${error.message}.` : undefined,
      }),
      { cause: error },
    );
  }
}

/** Far above any input that can be dispatched. */
const longestCanonical = 4 * 1024 * 1024;

/**
 * The JSON text with the keys of every object in order of their UTF-16 units (as RFC 8785 sorts
 * them), so that equal inputs have equal texts. Takes what `encodePayload` takes.
 *
 * @throws MillraceError `payload-invalid` as `encodePayload` does
 */
export function canonicalJson(value: unknown): string {
  if (isPlainQuietly(value, walkBudget(longestCanonical))) return canonicalText(value) ?? 'null';
  const text = encodePayload(value, { maxBytes: longestCanonical, what: 'input' });
  return canonicalText(JSON.parse(text)) ?? 'null';
}

function canonicalText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    // Not map(): it leaves holes.
    return `[${Array.from(value, (item: unknown) => canonicalText(item) ?? 'null').join(',')}]`;
  }
  const parts: string[] = [];
  const record = value as Record<string, unknown>;
  for (const key of Object.keys(record).sort()) {
    const text = canonicalText(record[key]);
    if (text !== undefined) parts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}
