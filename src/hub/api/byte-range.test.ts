import { expect, test } from 'vitest';
import { byteRange, hasTag } from './byte-range.js';

test.each([
  [undefined, null],
  ['bytes=0-0', { start: 0, end: 1 }],
  ['bytes=0-', { start: 0, end: 10 }],
  ['bytes=9-9', { start: 9, end: 10 }],
  ['bytes=5-99', { start: 5, end: 10 }],
  ['bytes=-3', { start: 7, end: 10 }],
  ['bytes=-99', { start: 0, end: 10 }],
  ['Bytes=1-2', { start: 1, end: 3 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=3-2', null],
  ['bytes=-', null],
  ['bytes=0-1,3-4', null],
  ['lines=0-1', null],
  ['bytes=a-b', null],
  [`bytes=${'9'.repeat(30)}-`, null],
])('of ten bytes %j is %j', (header, expected) => {
  expect(byteRange(header, 10)).toEqual(expected);
});

test('there is no part of an empty file', () => {
  expect(byteRange('bytes=0-', 0)).toBe('unsatisfiable');
  expect(byteRange('bytes=-5', 0)).toBe('unsatisfiable');
  expect(byteRange(undefined, 0)).toBeNull();
});

test('a tag is found among others, weak or not', () => {
  expect(hasTag('"a", W/"b"', '"b"')).toBe(true);
  expect(hasTag('*', '"b"')).toBe(true);
  expect(hasTag('"a"', '"b"')).toBe(false);
  expect(hasTag(undefined, '"b"')).toBe(false);
});
