/*
 * Where a text stops being JSON. The engine's own message names a place only for some mistakes, and differently in each
 * version of Node; someone who typed a payload into a shell needs to see it always.
 */
const token =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON texts must not contain them
  /\s*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)))/y;

type Expected = 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma-or-end' | 'nothing';

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** The first number in a JSON text that parsing would change: a whole one beyond 2^53 − 1, or one beyond all doubles. */
export function inexactNumber(json: string): { readonly index: number; readonly text: string } | null {
  for (const match of json.matchAll(stringOrNumber)) {
    const [text] = match;
    if (text.startsWith('"')) continue;
    const value = Number(text);
    const isExact = /^-?\d+$/.test(text) ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (!isExact) return { index: match.index, text };
  }
  return null;
}

/** The index of the first character that no JSON text could have there; null for a text that is JSON. */
export function jsonErrorIndex(text: string): number | null {
  const closers: string[] = [];
  let expected: Expected = 'value';
  let index = 0;
  for (;;) {
    token.lastIndex = index;
    const match = token.exec(text);
    if (match === null)
      return expected === 'nothing' && text.slice(index).trim() === '' ? null : wordStart(text, index);
    const next = step(expected, match, closers);
    if (next === null) return wordStart(text, index);
    expected = next;
    index = token.lastIndex;
  }
}

function wordStart(text: string, from: number): number {
  const offset = text.slice(from).search(/\S/);
  return offset < 0 ? text.length : from + offset;
}

/** What may follow a token; null when the token itself may not stand here. */
function step(expected: Expected, match: RegExpExecArray, closers: string[]): Expected | null {
  const [, mark, string] = match;
  const after = (): Expected => (closers.length === 0 ? 'nothing' : 'comma-or-end');
  if (mark === '}' || mark === ']') {
    const mayEnd = expected === 'comma-or-end' || expected === (mark === '}' ? 'key-or-end' : 'value-or-end');
    return mayEnd && closers.pop() === mark ? after() : null;
  }
  if (mark === ':') return expected === 'colon' ? 'value' : null;
  if (mark === ',') return expected === 'comma-or-end' ? (closers.at(-1) === '}' ? 'key' : 'value') : null;
  if (expected === 'key' || expected === 'key-or-end') return string === undefined ? null : 'colon';
  if (expected !== 'value' && expected !== 'value-or-end') return null;
  if (mark === undefined) return after();
  closers.push(mark === '{' ? '}' : ']');
  return mark === '{' ? 'key-or-end' : 'value-or-end';
}
