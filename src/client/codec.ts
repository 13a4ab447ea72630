import { MillraceError } from '../internal/errors.js';
import {
  decodeJson,
  type EncodedResult,
  encodePayload,
  encodeResult,
  truncatedResult,
} from '../internal/json.js';
import { type JobDefinition, versionOf } from './job-definition.js';
import { checkWithSchema, type MaybePromise } from './schema.js';
import { liftPayload } from './upcast.js';

/** What of a definition the codec needs. */
export type CodedJob<Parsed = unknown, Output = unknown> = Pick<
  JobDefinition<string, unknown, Parsed, Output>,
  'name' | 'inputSchema' | 'outputSchema'
>;

const nonRetriable = Symbol.for('millrace.non-retriable');

/**
 * The payload of an input, once the schema of the job has accepted what a worker will read from it. The text is
 * that of the input as given: what a schema makes of it is made again, by the code of the day it runs.
 *
 * @throws MillraceError `payload-invalid`, `payload-too-large`
 */
export function encodeInput(definition: CodedJob, input: unknown, maxBytes: number): MaybePromise<string> {
  const what = `input of job "${definition.name}"`;
  const text = encodePayload(input, { maxBytes, what });
  if (definition.inputSchema === undefined) return text;
  const accepted = checkValue(definition, decodeJson(text, what), what);
  return accepted instanceof Promise ? accepted.then(() => text) : text;
}

/**
 * The input a handler is given; a payload of an earlier version is lifted to that of the code before the schema sees it.
 * A refusal by the schema is marked as non-retriable: the same text would fail again.
 *
 * @throws MillraceError `payload-invalid`; `upcast-failed` and whatever the schema itself throws, unmarked
 */
export function decodeInput<Parsed>(
  definition: CodedJob<Parsed> & Pick<JobDefinition, 'upcast'>,
  payload: string,
  version = versionOf(definition),
): MaybePromise<Parsed> {
  const what = `input of job "${definition.name}"`;
  try {
    const value = decodeJson(payload, what);
    const lifted = version < versionOf(definition) ? liftPayload(definition, value, version) : value;
    const parsed =
      lifted instanceof Promise
        ? lifted.then((next) => checkValue(definition, next, what))
        : checkValue(definition, lifted, what);
    return parsed instanceof Promise ? parsed.catch(rethrowForGood) : parsed;
  } catch (error) {
    return rethrowForGood(error);
  }
}

/** An input that was left out is kept as null, so a null that the schema refuses may still stand for nothing. */
function checkValue<Parsed>(
  definition: CodedJob<Parsed>,
  value: unknown,
  what: string,
): MaybePromise<Parsed> {
  const schema = definition.inputSchema;
  if (schema === undefined) return value as Parsed;
  const check = (candidate: unknown): MaybePromise<Parsed> =>
    checkWithSchema(schema, candidate, { what, code: 'payload-invalid' });
  if (value !== null) return check(value);
  try {
    const parsed = check(null);
    return parsed instanceof Promise ? parsed.catch(() => check(undefined)) : parsed;
  } catch {
    // The answer to undefined is the one that is told, also when it is a refusal.
    return check(undefined);
  }
}

function rethrowForGood(error: unknown): never {
  if (!(error instanceof MillraceError)) throw error;
  if (error.code === 'upcast-failed') throw error;
  const failure =
    error.code === 'payload-invalid'
      ? error
      : new MillraceError('payload-invalid', error.message, { details: error.details, cause: error });
  throw Object.defineProperty(failure, nonRetriable, { value: true });
}

/** A result as it is stored. `text` is null when the handler returned nothing. */
export type StoredResult = Omit<EncodedResult, 'text'> & { readonly text: string | null };

/**
 * The stored form of what a handler returned, once the output schema has accepted it; of a schema that transforms,
 * what it made of the value is stored. What JSON can't tell is kept as well as it can be, with a note.
 *
 * @throws MillraceError `result-invalid` when the output schema refuses it
 */
export function encodeOutput(
  definition: CodedJob,
  value: unknown,
  maxBytes: number,
): MaybePromise<StoredResult> {
  if (definition.outputSchema === undefined) return store(value, maxBytes);
  const what = `result of job "${definition.name}"`;
  const checked = checkWithSchema(definition.outputSchema, value, { what, code: 'result-invalid' });
  return checked instanceof Promise
    ? checked.then((output) => store(output, maxBytes))
    : store(checked, maxBytes);
}

function store(value: unknown, maxBytes: number): StoredResult {
  return value === undefined ? { text: null } : encodeResult(value, { maxBytes });
}

/**
 * What `encodeOutput` had stored, as a waiter gets it.
 *
 * @throws MillraceError `result-too-large` for a result that was cut
 */
export function decodeWholeOutput(text: string | null, what: string): unknown {
  const value = decodeOutput(text, what);
  const cut = truncatedResult(value);
  if (cut === null) return value;
  const { bytes, head } = cut;
  throw new MillraceError(
    'result-too-large',
    `${what}: its JSON had ${bytes} bytes, more than a result may have, so only its beginning was kept. Keep what is large in a file or a table and return a reference to it`,
    { details: { bytes, head } },
  );
}

/** The same with what stands for a result that was cut: `{ $truncated: true, bytes, head }`. */
export function decodeOutput(text: string | null, what: string): unknown {
  return text === null ? undefined : decodeJson(text, what);
}
