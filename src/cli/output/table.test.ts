import { expect, test } from 'vitest';
import { displayWidth, fitWidth } from './display-width.js';
import { createStyle } from './style.js';
import { tableLines } from './table.js';
import { wrapText } from './wrap-text.js';

const style = createStyle(false);
interface Row {
  readonly name: string;
  readonly count: number;
  readonly note: string | null;
}
const columns = [
  { title: 'NAME', value: ({ name }: Row) => name, shrinkTo: 6 },
  { title: 'COUNT', value: ({ count }: Row) => count, align: 'right' as const },
  { title: 'NOTE', value: ({ note }: Row) => note, isOptional: true },
];

test('columns are aligned by what is seen, numbers to the right', () => {
  const rows = [
    { name: '日本', count: 1, note: null },
    { name: 'abcdef', count: 1000, note: null },
  ];
  expect(tableLines(rows, columns, { style, width: 80 })).toEqual([
    'NAME    COUNT',
    '日本        1',
    'abcdef   1000',
  ]);
});

test('a table that is too wide cuts what may be cut, and nothing else', () => {
  const rows = [{ name: 'a-very-long-name-of-a-job', count: 123_456_789, note: 'kept whole' }];
  const lines = tableLines(rows, columns, { style, width: 36 });
  expect(lines[1]).toBe('a-very-long-…  123456789  kept whole');
  for (const line of tableLines(rows, columns, { style, width: 10 })) expect(line).toContain('  ');
  expect(tableLines(rows, columns, { style, width: Number.POSITIVE_INFINITY })[1]).toContain('name-of-a-job');
});

test('a table that can’t be cut to its width leaves out what it can do without', () => {
  const wide = [
    { title: 'ID', value: () => 'x'.repeat(12) },
    { title: 'FIRST', value: () => 'y'.repeat(12), expendable: 2 },
    { title: 'LAST', value: () => 'z'.repeat(12), expendable: 1 },
  ];
  const heads = [42, 40, 30, 20, 5].map((width) => tableLines([1], wide, { style, width })[0]);
  expect(heads.map((head) => head?.split(/ +/))).toEqual([
    ['ID', 'FIRST', 'LAST'],
    ['ID', 'FIRST', 'LAST'],
    ['ID', 'LAST'],
    ['ID'],
    ['ID'],
  ]);
});

test('text is wrapped between words, and within those that are too long', () => {
  expect(wrapText('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrapText('see /a/long/path', 6)).toEqual(['see', '/a/lo', 'ng/pa', 'th']);
  expect(wrapText('as it is', Number.POSITIVE_INFINITY)).toEqual(['as it is']);
});

test('cells can’t break out of their line, and colours take no width', () => {
  const painted = createStyle(true);
  const rows = [{ name: 'x\ny\u001b[2J', count: 1, note: null }];
  const [head = '', line = ''] = tableLines(rows, columns, { style: painted, width: 80 });
  expect(line).not.toContain('\n');
  expect(line).toContain(String.raw`x\ny\u{1b}[2J`);
  expect(displayWidth(head)).toBe(displayWidth(line));
});

test('a text is cut between characters', () => {
  expect(fitWidth('👩‍👩‍👧‍👦 family', 4)).toBe('👩‍👩‍👧‍👦 …');
  expect(fitWidth('日本語', 4)).toBe('日…');
  expect(fitWidth('short', 5)).toBe('short');
});
