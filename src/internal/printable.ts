/**
 * What a terminal could take for a command or that changes how the rest of a line is read: C0 and C1 controls, DEL,
 * line and paragraph separators, bidirectional overrides and isolates, zero-width characters, tags.
 */
const dangerous =
  /[\p{Cc}\u061C\u200B\u200E\u200F\u2028\u2029\u202A-\u202E\u2060\u2066-\u2069\uFEFF\u{E0000}-\u{E007F}]|\p{Surrogate}/gu;
const dangerousInBlock = new RegExp(`(?![\\n\\t])(?:${dangerous.source})`, 'gu');

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeOf(char: string): string {
  const short = named[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  return `\\u{${code.toString(16)}}`;
}

/** The text on one line, with everything a terminal would act upon written as an escape. */
export function printable(text: string): string {
  return text.replace(dangerous, escapeOf);
}

/** The same for a text of several lines: line breaks stay, tabs become blanks. */
export function printableBlock(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(dangerousInBlock, escapeOf).replace(/\t/g, '  ');
}

/** A JSON text in which such characters are `\u` escapes: the same value, harmless to a terminal. */
export function printableJson(json: string): string {
  return json.replace(dangerousInBlock, (char) =>
    [...Array(char.length).keys()]
      .map((index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
