/**
 * A text of an application as it is stored: at most `maxBytes` of UTF-8 with a note of what was cut, and without what
 * some databases refuse, since a refused text would keep its job from ever ending.
 */
export function storedText(text: string, maxBytes: number): string {
  const clean = printable(text.length > maxBytes ? text.slice(0, maxBytes) : text);
  if (clean.length * 3 <= maxBytes && text.length <= maxBytes) return clean;
  const bytes = Buffer.from(clean, 'utf8');
  if (bytes.length <= maxBytes && text.length <= maxBytes) return clean;
  const note = `… (cut, ${text.length} characters)`;
  const room = Math.max(maxBytes - Buffer.byteLength(note), 0);
  return bytes.toString('utf8', 0, characterStart(bytes, room)) + note;
}

/** The start of the UTF-8 character that `at` falls into. */
function characterStart(bytes: Buffer, at: number): number {
  let start = Math.min(at, bytes.length);
  while (start > 0 && start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start -= 1;
  return start;
}

/** NUL becomes ␀ and a lone surrogate U+FFFD: no database or terminal has to cope with them. */
function printable(text: string): string {
  return text.replaceAll('\0', '␀').replace(/\p{Surrogate}/gu, '\uFFFD');
}
