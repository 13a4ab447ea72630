/** Part of a value: of objects some properties, of a list all items, each of which may be a part. */
export type Partly<T> = unknown extends T
  ? JsonLike
  : T extends readonly unknown[]
    ? { readonly [Index in keyof T]: Partly<T[Index]> }
    : T extends object
      ? { readonly [Key in keyof T]?: Partly<T[Key]> | undefined }
      : T;

type JsonLike =
  | string
  | number
  | boolean
  | null
  | undefined
  | Date
  | readonly JsonLike[]
  | { readonly [key: string]: JsonLike };

/** One place where a value is not as expected. */
export interface Difference {
  /** `customer.lines[0].sku`; empty for the value itself. */
  readonly path: string;
  readonly expected: unknown;
  readonly got: unknown;
}

/**
 * Where `got`, a value that came out of JSON, lacks what `part` asks for. A part that is undefined asks for nothing to be
 * there, and one with a `toJSON` (a Date) for what that tells.
 */
export function differences(got: unknown, part: unknown, path = ''): Difference[] {
  const expected = told(part);
  if (Array.isArray(expected)) {
    if (!Array.isArray(got) || got.length !== expected.length) return [{ path, expected, got }];
    return expected.flatMap((item, index) => differences(got[index], item, `${path}[${index}]`));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof got !== 'object' || got === null || Array.isArray(got)) return [{ path, expected, got }];
    return Object.entries(expected).flatMap(([key, value]) =>
      differences((got as Record<string, unknown>)[key], value, path === '' ? key : `${path}.${key}`),
    );
  }
  return Object.is(got, expected) || (got === 0 && expected === 0) ? [] : [{ path, expected, got }];
}

/** `got` with what `part` asks for put in its place: beside `got`, a test runner's diff shows what is wrong and nothing else. */
export function withPart(got: unknown, part: unknown): unknown {
  const expected = told(part);
  if (Array.isArray(expected)) {
    const items: unknown[] = Array.isArray(got) ? got : [];
    return expected.map((item, index) => withPart(items[index], item));
  }
  if (typeof expected !== 'object' || expected === null) return expected;
  const base = typeof got === 'object' && got !== null && !Array.isArray(got) ? got : {};
  const entries = Object.entries(expected).map(([key, value]) => [
    key,
    withPart((base as Record<string, unknown>)[key], value),
  ]);
  return { ...base, ...Object.fromEntries(entries) };
}

function told(part: unknown): unknown {
  const hasToJson = typeof part === 'object' && part !== null && 'toJSON' in part;
  return hasToJson && typeof part.toJSON === 'function' ? (part.toJSON() as unknown) : part;
}
