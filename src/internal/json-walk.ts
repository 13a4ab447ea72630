/*
 * JSON.stringify quietly changes much of what it is given: functions and symbols vanish, a Map
 * becomes {}, NaN becomes null. This is the check in front of it. `isPlainJson` answers fast for
 * the values nearly everybody uses; everything else goes through `toPlainJson`, which copies the
 * value by the rules of JSON.stringify and reports each place where JSON says less than the value.
 */

const deepestFast = 64;
/** Each level costs the walk several frames of a stack that the caller has used some of already. */
const deepest = 200;
const longestPath = 300;

/** What can't be told in JSON without a loss, and where. */
export interface JsonProblem {
  /** Where it is: `$`, `$.items[3].price`, `$["a b"]`. */
  readonly path: string;
  readonly problem: string;
}

/** Thrown to end a walk; never leaves this folder. */
export class JsonWalkError extends Error {
  readonly at: JsonProblem | 'too-large';

  constructor(at: JsonProblem | 'too-large') {
    super(at === 'too-large' ? at : at.problem);
    this.at = at;
  }
}

/** A count of what is left of a walk's allowance of nodes and characters. */
export interface JsonBudget {
  left: number;
}

/**
 * Whether JSON.stringify tells the whole value as it is: null, booleans, finite numbers, texts,
 * undefined, plain arrays and plain objects of these, not too deep, within the budget. The budget
 * bounds the walk of values that share parts, which can unfold to more than any memory holds.
 */
export function isPlainJson(value: unknown, budget: JsonBudget): boolean {
  return isPlain(value, budget, 0);
}

function isPlain(value: unknown, budget: JsonBudget, depth: number): boolean {
  budget.left -= 1;
  switch (typeof value) {
    case 'string':
      budget.left -= value.length;
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'boolean':
    case 'undefined':
      return true;
    case 'object':
      return value === null || isPlainObject(value, budget, depth);
    default:
      return false;
  }
}

function isPlainObject(value: object, budget: JsonBudget, depth: number): boolean {
  if (depth > deepestFast || budget.left < 0) return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      if (!isPlain(value[index], budget, depth + 1)) return false;
    }
    return !('toJSON' in value);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || 'toJSON' in value) return false;
  const record = value as Record<string, unknown>;
  for (const key in record) {
    budget.left -= key.length;
    if (!isPlain(record[key], budget, depth + 1)) return false;
  }
  return true;
}

/** What to do about a value that JSON can't tell: throw, or answer what stands in its place. */
export type OnJsonProblem = (problem: JsonProblem, value: unknown) => unknown;

/** Stands for "leave this property out". */
export const omitted: unique symbol = Symbol('omitted');

interface Walk {
  readonly onProblem: OnJsonProblem;
  readonly budget: JsonBudget;
  readonly ancestors: Set<object>;
}

/**
 * A copy that JSON.stringify tells whole. `toJSON` is honoured once per value, as JSON.stringify
 * would; undefined properties are left out and undefined elements become null, as it would too.
 *
 * @throws JsonWalkError `too-large` when the budget is used up, and whatever `onProblem` throws
 */
export function toPlainJson(value: unknown, onProblem: OnJsonProblem, budget: JsonBudget): unknown {
  const plain = copy(value, '', '$', { onProblem, budget, ancestors: new Set() });
  return plain === omitted ? null : plain;
}

function copy(value: unknown, key: string, path: string, walk: Walk): unknown {
  walk.budget.left -= 1;
  if (walk.budget.left < 0) throw new JsonWalkError('too-large');
  switch (typeof value) {
    case 'string':
      walk.budget.left -= value.length;
      return value;
    case 'boolean':
      return value;
    case 'undefined':
      return omitted;
    case 'number':
      return Number.isFinite(value) ? value : replace(`${value} is not a number in JSON`, value, path, walk);
    case 'bigint':
      return copyBigint(value, key, path, walk);
    case 'function':
    case 'symbol':
      return replace(`a ${typeof value} cannot be kept as JSON`, value, path, walk);
    default:
      return value === null ? null : copyObject(value as object, key, path, walk);
  }
}

function replace(problem: string, value: unknown, path: string, walk: Walk): unknown {
  const shortPath = path.length > longestPath ? `${path.slice(0, longestPath)}…` : path;
  return walk.onProblem({ path: shortPath, problem }, value);
}

function copyBigint(value: bigint, key: string, path: string, walk: Walk): unknown {
  const toJson: unknown = Reflect.get(BigInt.prototype, 'toJSON');
  if (typeof toJson !== 'function') return replace('a BigInt cannot be kept as JSON', value, path, walk);
  return guarded(() => copy(toJson.call(value, key), key, path, walk), path, walk);
}

function copyObject(value: object, key: string, path: string, walk: Walk): unknown {
  if (walk.ancestors.has(value)) return replace('it contains itself (a cycle)', value, path, walk);
  if (walk.ancestors.size >= deepest) {
    return replace(`it is nested deeper than ${deepest} levels`, value, path, walk);
  }
  walk.ancestors.add(value);
  try {
    return guarded(() => copyParts(value, key, path, walk), path, walk);
  } finally {
    walk.ancestors.delete(value);
  }
}

/** Runs what reads the user's object: getters, toJSON and proxies may throw anything. */
function guarded(read: () => unknown, path: string, walk: Walk): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonWalkError) throw error;
    return replace(
      `it threw while it was read: ${thrownText(error)}`,
      new ThrownWhileRead(error),
      path,
      walk,
    );
  }
}

/** Handed to `onProblem` in place of a value that could not be read. */
export class ThrownWhileRead {
  readonly text: string;

  constructor(error: unknown) {
    this.text = thrownText(error);
  }
}

function thrownText(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message).slice(0, 500) : String(error).slice(0, 500);
  } catch {
    // What was thrown throws as well when it is read.
    return 'something unprintable';
  }
}

function copyParts(value: object, key: string, path: string, walk: Walk): unknown {
  const toJson: unknown = Reflect.get(value, 'toJSON');
  if (typeof toJson === 'function') return copyFromToJson(value, toJson, key, path, walk);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return copy(value.valueOf(), key, path, walk);
  }
  if (Array.isArray(value)) return copyArray(value, path, walk);
  const lossy = lossyKind(value);
  if (lossy !== undefined) return replace(`a ${lossy} cannot be kept as JSON`, value, path, walk);
  const record = value as Record<string, unknown>;
  const plain = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(record)) {
    walk.budget.left -= name.length;
    const innerPath = path + keyPath(name);
    const inner = guarded(() => copy(record[name], name, innerPath, walk), innerPath, walk);
    if (inner !== omitted) plain[name] = inner;
  }
  return plain;
}

function copyFromToJson(value: object, toJson: object, key: string, path: string, walk: Walk): unknown {
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    return replace('an invalid Date cannot be kept as JSON', value, path, walk);
  }
  const told: unknown = Reflect.apply(toJson as () => unknown, value, [key]);
  if (told === value) return copyUntold(value, path, walk);
  return copy(told, key, path, walk);
}

/** An object whose toJSON answers the object itself: its own enumerable properties count. */
function copyUntold(value: object, path: string, walk: Walk): unknown {
  const { toJSON: _, ...rest } = value as Record<string, unknown>;
  return copy(rest, '', path, walk);
}

function copyArray(value: readonly unknown[], path: string, walk: Walk): unknown[] {
  const plain: unknown[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const innerPath = `${path}[${index}]`;
    const inner = guarded(() => copy(value[index], String(index), innerPath, walk), innerPath, walk);
    plain.push(inner === omitted ? null : inner);
  }
  return plain;
}

/** The built-in kinds of which JSON.stringify tells nothing, or something else than they are. */
function lossyKind(value: object): string | undefined {
  if (value instanceof Map) return 'Map';
  if (value instanceof Set) return 'Set';
  if (value instanceof Error) return 'Error';
  if (value instanceof RegExp) return 'RegExp';
  if (value instanceof Promise) return 'Promise';
  if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef)
    return 'weak collection';
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return 'ArrayBuffer';
  if (ArrayBuffer.isView(value)) return 'typed array';
  return undefined;
}

function keyPath(name: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
