import { storedText } from './stored-text.js';

/** What is kept about an error: plain, printable, of bounded size. */
export interface FailureRecord {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly cause?: FailureRecord;
}

/** How an attempt ended that did not succeed. */
export type AttemptFailureKind = 'failed' | 'timed-out' | 'died' | 'poison' | 'cancelled';

/** One entry of the failures kept with a job. */
export interface AttemptFailure {
  /** Database time in ms since 1970. */
  readonly at: number;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  readonly kind: AttemptFailureKind;
  /** The worker on which it happened. */
  readonly worker?: string;
  readonly error: FailureRecord;
}

const nameCap = 200;
const codeCap = 200;
const messageCapBytes = 8 * 1024;
const stackCapBytes = 16 * 1024;
const causeDepth = 4;
const newestKept = 9;
const totalCapBytes = 256 * 1024;

/**
 * What is to be kept about anything that was thrown. Never throws, whatever the value: getters and
 * proxies that throw, causes in a circle, messages of megabytes, values that are no errors.
 * NUL and lone surrogates, which some databases refuse, are made printable.
 */
export function describeFailure(error: unknown): FailureRecord {
  try {
    return describe(error, causeDepth, new Set());
  } catch {
    // Something inside it throws even when asked what it is (a revoked proxy is neither a list nor none).
    return { name: 'NonError', message: 'thrown value: one that cannot be read' };
  }
}

function describe(error: unknown, depth: number, seen: Set<unknown>): FailureRecord {
  if ((typeof error !== 'object' && typeof error !== 'function') || error === null) {
    return {
      name: 'NonError',
      message: storedText(`thrown value: ${primitiveText(error)}`, messageCapBytes),
    };
  }
  seen.add(error);
  const name = textOf(read(error, 'name'));
  const message = textOf(read(error, 'message')) ?? '';
  const stack = textOf(read(error, 'stack'));
  const code = read(error, 'code');
  const cause = read(error, 'cause');
  const looksLikeError = name !== undefined || message !== '' || stack !== undefined;
  return {
    name: looksLikeError ? storedText(name ?? 'Error', nameCap) : 'NonError',
    message: storedText(
      message || nestedMessages(error) || (looksLikeError ? '(no message)' : `thrown value: ${tagOf(error)}`),
      messageCapBytes,
    ),
    ...(stack === undefined ? {} : { stack: storedText(stack, stackCapBytes) }),
    ...(typeof code === 'string' || typeof code === 'number'
      ? { code: storedText(String(code), codeCap) }
      : {}),
    ...(cause === undefined || cause === null || depth === 0 || seen.has(cause)
      ? {}
      : { cause: describe(cause, depth - 1, seen) }),
  };
}

/** An AggregateError often has an empty message (Node's connect errors do): its parts say it. */
function nestedMessages(error: object): string {
  const errors = read(error, 'errors');
  if (!Array.isArray(errors)) return '';
  const texts = errors.slice(0, 5).map((part: unknown) => {
    const message = typeof part === 'object' && part !== null ? textOf(read(part, 'message')) : undefined;
    return (message ?? primitiveText(part)).slice(0, 1000);
  });
  return texts.join('; ');
}

function read(target: object, key: string): unknown {
  try {
    return Reflect.get(target, key);
  } catch {
    // A getter or proxy that throws: the property is as good as absent.
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function primitiveText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' || typeof value === 'function') return value === null ? 'null' : tagOf(value);
  return typeof value === 'bigint' ? `${value}n` : String(value);
}

function tagOf(value: object): string {
  try {
    const text = JSON.stringify(value);
    if (typeof text === 'string') return text;
  } catch {
    // Cyclic, or it throws while it is read: fall through to what is always known.
  }
  return typeof value === 'function' ? '[function]' : '[object]';
}

/**
 * The failures kept with a job, as the text of a JSON array, after one more. The first failure and
 * the newest nine stay; when the text would reach 256 KB, the entries between them lose detail, the
 * oldest before the newer, then the first, the newest last. A text that cannot be read is replaced:
 * writing a failure must never fail.
 */
export function appendFailure(existing: string | null, entry: AttemptFailure): string {
  const all = [...parseFailures(existing), entry];
  const kept = all.length > newestKept + 1 ? [all[0] as AttemptFailure, ...all.slice(-newestKept)] : all;
  let texts = kept.map((failure) => JSON.stringify(failure));
  for (const index of slimmingOrder(kept.length)) {
    for (const slim of [withoutCauseStacks, withoutStacks, shortMessageOnly]) {
      if (totalBytes(texts) < totalCapBytes) return `[${texts.join(',')}]`;
      texts = texts.with(index, JSON.stringify(slim(kept[index] as AttemptFailure)));
    }
  }
  return `[${texts.join(',')}]`;
}

/** The failures in a text made by `appendFailure`; none when it cannot be read. */
export function parseFailures(text: string | null): AttemptFailure[] {
  if (text === null || text === '') return [];
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed.filter(isAttemptFailure) : [];
  } catch {
    // Damaged by hand: the failure at hand matters more than the old ones.
    return [];
  }
}

function isAttemptFailure(value: unknown): value is AttemptFailure {
  return typeof value === 'object' && value !== null && 'error' in value && 'kind' in value;
}

/** The middle from old to new, then the first, the newest last. */
function slimmingOrder(count: number): number[] {
  const middle = Array.from({ length: Math.max(count - 2, 0) }, (_, index) => index + 1);
  return [...new Set([...middle, 0, count - 1])];
}

function totalBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 1);
}

function withoutCauseStacks(failure: AttemptFailure): AttemptFailure {
  const { cause, ...error } = failure.error;
  return cause === undefined
    ? failure
    : { ...failure, error: { ...error, cause: recordWithoutStacks(cause) } };
}

function withoutStacks(failure: AttemptFailure): AttemptFailure {
  return { ...failure, error: recordWithoutStacks(failure.error) };
}

function recordWithoutStacks(record: FailureRecord): FailureRecord {
  const { stack: _, cause, ...rest } = record;
  return cause === undefined ? rest : { ...rest, cause: recordWithoutStacks(cause) };
}

function shortMessageOnly(failure: AttemptFailure): AttemptFailure {
  const { name, message, code } = failure.error;
  const error = { name, message: storedText(message, 1024), ...(code === undefined ? {} : { code }) };
  return { ...failure, error };
}
