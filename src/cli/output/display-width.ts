const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Two columns in terminals: East Asian wide and full-width blocks, and what is shown as an emoji. */
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}])/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them
const colour = /\u001B\[[\d;]*m/g;

/** How many columns of a terminal a printable text takes; colours take none. */
export function displayWidth(text: string): number {
  const bare = text.replace(colour, '');
  if (/^[\x20-\x7e]*$/.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of segmenter.segment(bare)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The text, or as much of it as fits into so many columns with `…` at its end. Not for texts with colours. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns < 1) return '';
  let width = 0;
  let kept = '';
  for (const { segment } of segmenter.segment(text)) {
    width += wide.test(segment) ? 2 : 1;
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
