import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, printableBlock, printableJson } from './printable.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
const raw = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029\u200b-\u200f]/;

test('nothing that a terminal acts upon gets through', () => {
  const bits = fc.constantFrom(
    '\u001b[31m',
    '\u0007',
    '\u009b',
    '\u202e',
    '\r',
    '\n',
    '\t',
    '\u2028',
    '\u{e0041}',
    'é',
    '日',
    '👍',
    'a',
    '\ud800',
  );
  fc.assert(
    fc.property(
      fc.array(bits).map((parts) => parts.join('')),
      (text) => {
        expect(printable(text)).not.toMatch(raw);
        expect(printableBlock(text).replaceAll('\n', '')).not.toMatch(raw);
        const json = printableJson(JSON.stringify({ text }, null, 2));
        expect(json.replaceAll('\n', '')).not.toMatch(raw);
        expect(JSON.parse(json)).toEqual({ text });
      },
    ),
  );
});

test('escapes say what was there', () => {
  expect(printable('a\u001b[2Jb\nc\u202e')).toBe(String.raw`a\u{1b}[2Jb\nc\u{202e}`);
  expect(printableBlock('one\r\ntwo\tx')).toBe('one\ntwo  x');
  expect(printable('grün 日本 👍')).toBe('grün 日本 👍');
});
