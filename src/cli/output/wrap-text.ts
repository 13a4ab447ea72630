import { displayWidth, fitWidth } from './display-width.js';

/** The text in lines of at most `width` columns, broken between words; a word that is longer is broken within. */
export function wrapText(text: string, width: number): string[] {
  if (width === Number.POSITIVE_INFINITY) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (displayWidth(line) > width) {
      // What fits, without the mark that says that something was cut.
      const head = fitWidth(line, width).slice(0, -1);
      if (head === '') break;
      lines.push(head);
      line = line.slice(head.length);
    }
  }
  return [...lines, line];
}
