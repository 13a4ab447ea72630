import { describe, expect, it } from 'vitest';
import { StderrTail } from './stderr-tail.js';

const tailOf = (...chunks: string[]): string => {
  const tail = new StderrTail();
  for (const chunk of chunks) tail.add(Buffer.from(chunk));
  return tail.text();
};

describe('the tail of what a child wrote', () => {
  it('is all of it when that is little', () => {
    expect(tailOf()).toBe('');
    expect(tailOf('Error: no\n', '    at here\n\n')).toBe('Error: no\n    at here');
  });

  it('is the end of much, from the start of a line', () => {
    const text = tailOf(
      'x'.repeat(50_000),
      '\n',
      ...Array.from({ length: 100 }, (_, n) => `line ${n} ${'é'.repeat(20)}\n`),
    );
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048);
    expect(text).toMatch(/^line \d+ é/);
    expect(text).toMatch(/line 99 é+$/);
  });

  it.each(['€'.repeat(5_000), '\u0000\u001b[31m'.repeat(2_000), '\ud800x'.repeat(3_000), '\n'.repeat(9_000)])(
    'is printable and at most 2 KB whatever it was',
    (written) => {
      const text = tailOf(written);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
      expect(text).not.toMatch(/[\u0000\u001b]|\p{Surrogate}/u);
    },
  );
});
